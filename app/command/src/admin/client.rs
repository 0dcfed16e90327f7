//! The client of the admin socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::channel::{Stream, connect, cut_off};
use super::{AdminAnswer, AdminRequest, LINE_MAX, LINE_TIME};
use crate::failure::Failure;

/// The server that a command addresses.
#[derive(Debug, Clone)]
pub(crate) struct ServerAddress {
    /// The server's admin socket.
    pub(crate) socket: PathBuf,
    /// The server's data file, whose owner may run the server; none for a store in memory.
    pub(crate) data: Option<PathBuf>,
}

/// Sends a request to the server behind a socket; none if no server listens there.
pub(crate) fn ask(server: &ServerAddress, request: &AdminRequest) -> Result<Option<AdminAnswer>, Failure> {
    ask_within(LINE_TIME, server, request)
}

/// Sends a request, with a time limit for the answer.
pub(crate) fn ask_within(
    patience: Duration,
    server: &ServerAddress,
    request: &AdminRequest,
) -> Result<Option<AdminAnswer>, Failure> {
    let Some(server) = connect(server)? else { return Ok(None) };
    let mut answers = send(&server, request, patience)?;
    // The server may have executed the request even if no answer arrives.
    let answer = first_answer(&mut answers).map_err(|failure| {
        let why = failure.message;
        Failure::because(format!(
            "{why}; the request may have been executed all the same: check before you repeat it"
        ))
    })?;
    Ok(Some(answer))
}

/// Starts a transfer of lines: sends the request and waits within the time limit until the server is ready. After the
/// server's answer, reads and writes have no time limit.
pub(crate) fn begin(
    server: &Stream,
    request: &AdminRequest,
    patience: Duration,
) -> Result<BufReader<Stream>, Failure> {
    let (answers, first) = begun(server, request, patience)?;
    first.understood().map(|_| answers)
}

/// Starts a transfer, and returns the server's first answer. It may be "ready", a refusal, or another instruction.
pub(crate) fn begun(
    server: &Stream,
    request: &AdminRequest,
    patience: Duration,
) -> Result<(BufReader<Stream>, AdminAnswer), Failure> {
    let mut answers = send(server, request, patience)?;
    let first = first_answer(&mut answers)?;
    bound(server, None)?;
    Ok((answers, first))
}

/// Sends a request and returns the reader of the server's answers. Each read and each write has this time limit.
fn send(
    mut server: &Stream,
    request: &AdminRequest,
    patience: Duration,
) -> Result<BufReader<Stream>, Failure> {
    bound(server, Some(patience))?;
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    server.write_all(&line).map_err(|error| cut_off(&error))?;
    server.try_clone().map(BufReader::new).map_err(|error| cut_off(&error))
}

fn bound(server: &Stream, patience: Option<Duration>) -> Result<(), Failure> {
    let bounded = server.set_read_timeout(patience).and_then(|()| server.set_write_timeout(patience));
    bounded.map_err(|error| cut_off(&error))
}

fn first_answer(answers: &mut BufReader<Stream>) -> Result<AdminAnswer, Failure> {
    let mut line = Vec::new();
    let read = answers.take(LINE_MAX as u64).read_until(b'\n', &mut line);
    match read {
        Ok(0) => return Err(Failure::because("the server closed the connection without an answer")),
        Ok(_) => {}
        Err(error) if is_late(&error) => {
            let patience = answers.get_ref().read_timeout().ok().flatten().unwrap_or_default();
            return Err(Failure::because(format!("no answer came within {} s", patience.as_secs())));
        }
        Err(error) => return Err(cut_off(&error)),
    }
    serde_json::from_slice(&line)
        .map_err(|_| Failure::because("the server's answer cannot be parsed: it may be of another version"))
}

/// Returns whether a read or write has timed out.
fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::super::channel::pair;
    use super::*;

    #[test]
    fn the_first_answer_has_a_time_limit_and_later_lines_have_none() {
        const PATIENCE: Duration = Duration::from_millis(20);
        for request in [AdminRequest::Import { rename_collisions: false }, AdminRequest::Export] {
            let (client, mut server) = pair();
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
