//! The client's end of the admin socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Answer, LINE_MAX, LINE_TIME, Request};
use crate::Failure;

/// Asks the server behind a socket.
pub(crate) fn ask(socket: &Path, request: &Request) -> Result<Answer, Failure> {
    let fault = |error: std::io::Error| Failure::because(format!("the server did not answer: {error}"));
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(LINE_TIME)).map_err(fault)?;
    stream.set_write_timeout(Some(LINE_TIME)).map_err(fault)?;
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(fault)?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(LINE_MAX as u64)).read_until(b'\n', &mut answer).map_err(fault)?;
    match serde_json::from_slice(&answer) {
        Ok(Answer::Refused { why }) => Err(Failure::because(why)),
        Ok(answer) => Ok(answer),
        Err(_) => Err(Failure::because("the server's answer cannot be read: is it of another version?")),
    }
}

fn connect(socket: &Path) -> Result<UnixStream, Failure> {
    UnixStream::connect(socket).map_err(|error| {
        let socket = socket.display();
        Failure::because(match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                format!("no server answers at {socket}: start one with `petstore serve`, or name its --admin-socket")
            }
            std::io::ErrorKind::PermissionDenied => {
                format!("{socket} belongs to another user: only the server's own user may open it")
            }
            _ => format!("{socket} cannot be opened: {error}"),
        })
    })
}
