//! The client's end of the admin socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::{Answer, LINE_MAX, LINE_TIME, Request};
use crate::Failure;

/// Asks the server behind a socket; none if no server is there.
pub(crate) fn ask(socket: &Path, request: &Request) -> Result<Option<Answer>, Failure> {
    ask_within(LINE_TIME, socket, request)
}

/// The same of a server that is waited for no longer than this.
pub(crate) fn ask_within(
    patience: Duration,
    socket: &Path,
    request: &Request,
) -> Result<Option<Answer>, Failure> {
    let Some(server) = connect(socket)? else { return Ok(None) };
    let mut answers = send(&server, request, patience)?;
    // From here on the server may do it, whatever comes of the answer.
    let answer = first_answer(&mut answers).map_err(|failure| {
        let why = failure.message;
        Failure::because(format!("{why}; what was asked may be done all the same: look before you ask again"))
    })?;
    Ok(Some(answer))
}

/// Asks for lines to be taken or given, and waits for the server to say that it is ready, for no longer than this. From then
/// on each side takes the time that its lines take.
pub(crate) fn begin(
    server: &UnixStream,
    request: &Request,
    patience: Duration,
) -> Result<BufReader<UnixStream>, Failure> {
    let mut answers = send(server, request, patience)?;
    first_answer(&mut answers)?.understood()?;
    bound(server, None)?;
    Ok(answers)
}

/// Sends a request, and returns what the answers are read from. Either side is waited for no longer than this.
fn send(
    mut server: &UnixStream,
    request: &Request,
    patience: Duration,
) -> Result<BufReader<UnixStream>, Failure> {
    bound(server, Some(patience))?;
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    server.write_all(&line).map_err(|error| cut_off(&error))?;
    server.try_clone().map(BufReader::new).map_err(|error| cut_off(&error))
}

fn bound(server: &UnixStream, patience: Option<Duration>) -> Result<(), Failure> {
    let bounded = server.set_read_timeout(patience).and_then(|()| server.set_write_timeout(patience));
    bounded.map_err(|error| cut_off(&error))
}

fn first_answer(answers: &mut BufReader<UnixStream>) -> Result<Answer, Failure> {
    let mut line = Vec::new();
    let read = answers.take(LINE_MAX as u64).read_until(b'\n', &mut line);
    match read {
        Ok(0) => return Err(Failure::because("the server went away without an answer")),
        Ok(_) => {}
        Err(error) if is_late(&error) => {
            let patience = answers.get_ref().read_timeout().ok().flatten().unwrap_or_default();
            return Err(Failure::because(format!("no answer came within {} s", patience.as_secs())));
        }
        Err(error) => return Err(cut_off(&error)),
    }
    serde_json::from_slice(&line)
        .map_err(|_| Failure::because("the server's answer cannot be read: is it of another version?"))
}

/// Whether a socket has waited for as long as it may.
fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A server that is there, and does not listen or speak.
pub(crate) fn cut_off(error: &io::Error) -> Failure {
    Failure::because(format!("the server did not answer: {error}"))
}

/// A connection to the server behind a socket; none if no server is there.
pub(crate) fn connect(socket: &Path) -> Result<Option<UnixStream>, Failure> {
    match UnixStream::connect(socket) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            // The last one stands for a path that is too long for a socket: no server has one there.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput => {
                Ok(None)
            }
            io::ErrorKind::PermissionDenied => Err(Failure::because(format!(
                "{} belongs to another user: only the server's own user may open it",
                socket.display()
            ))),
            _ => Err(Failure::because(format!("{} cannot be opened: {error}", socket.display()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_waited_for_as_long_as_a_line_may_take_and_its_lines_for_longer() {
        const PATIENCE: Duration = Duration::from_millis(20);
        for request in [Request::Import { rename_collisions: false }, Request::Export] {
            let (client, mut server) = UnixStream::pair().unwrap();
            let Err(late) = begin(&client, &request, PATIENCE) else {
                panic!("{request:?}: it said nothing")
            };
            assert_eq!(late.message, "no answer came within 0 s");
            server.write_all(b"{\"answer\":\"ready\"}\n").unwrap();
            let answers = begin(&client, &request, PATIENCE).unwrap();
            let bounds = (answers.get_ref().read_timeout().unwrap(), client.write_timeout().unwrap());
            assert_eq!(bounds, (None, None));
        }
    }
}
