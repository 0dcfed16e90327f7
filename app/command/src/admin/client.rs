//! The client's end of the admin socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Answer, LINE_MAX, LINE_TIME, Request};
use crate::Failure;

/// Asks the server behind a socket; none if no server is there.
pub(crate) fn ask(socket: &Path, request: &Request) -> Result<Option<Answer>, Failure> {
    let fault = |error: std::io::Error| Failure::because(format!("the server did not answer: {error}"));
    let Some(mut stream) = connect(socket)? else { return Ok(None) };
    stream.set_read_timeout(Some(LINE_TIME)).map_err(fault)?;
    stream.set_write_timeout(Some(LINE_TIME)).map_err(fault)?;
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(fault)?;
    // From here on the server may do it, whatever comes of the answer.
    let unanswered = |why: String| {
        Failure::because(format!("{why}; what was asked may be done all the same: look before you ask again"))
    };
    let mut answer = Vec::new();
    let read = BufReader::new(stream.take(LINE_MAX as u64)).read_until(b'\n', &mut answer);
    match read {
        Ok(0) => return Err(unanswered("the server went away without an answer".to_owned())),
        Ok(_) => {}
        Err(error) if is_late(&error) => {
            return Err(unanswered(format!("no answer came within {} s", LINE_TIME.as_secs())));
        }
        Err(error) => return Err(unanswered(format!("the answer did not come: {error}"))),
    }
    serde_json::from_slice(&answer)
        .map(Some)
        .map_err(|_| Failure::because("the server's answer cannot be read: is it of another version?"))
}

/// Whether a socket has waited for as long as it may.
pub(crate) fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// A connection to the server behind a socket; none if no server is there.
pub(crate) fn connect(socket: &Path) -> Result<Option<UnixStream>, Failure> {
    match UnixStream::connect(socket) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            // The last one stands for a path that is too long for a socket: no server has one there.
            std::io::ErrorKind::NotFound
            | std::io::ErrorKind::ConnectionRefused
            | std::io::ErrorKind::InvalidInput => Ok(None),
            std::io::ErrorKind::PermissionDenied => Err(Failure::because(format!(
                "{} belongs to another user: only the server's own user may open it",
                socket.display()
            ))),
            _ => Err(Failure::because(format!("{} cannot be opened: {error}", socket.display()))),
        },
    }
}
