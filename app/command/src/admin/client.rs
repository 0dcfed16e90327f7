//! The client of the admin socket.
//!
//! A socket's path does not prove which process listens: any user may create a socket in a folder that is writable for
//! all. So the client asks the system for the user of the listening process before it sends anything.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::geteuid;

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
    server: &UnixStream,
    request: &AdminRequest,
    patience: Duration,
) -> Result<BufReader<UnixStream>, Failure> {
    let (answers, first) = begun(server, request, patience)?;
    first.understood().map(|_| answers)
}

/// Starts a transfer, and returns the server's first answer. It may be "ready", a refusal, or another instruction.
pub(crate) fn begun(
    server: &UnixStream,
    request: &AdminRequest,
    patience: Duration,
) -> Result<(BufReader<UnixStream>, AdminAnswer), Failure> {
    let mut answers = send(server, request, patience)?;
    let first = first_answer(&mut answers)?;
    bound(server, None)?;
    Ok((answers, first))
}

/// Sends a request and returns the reader of the server's answers. Each read and each write has this time limit.
fn send(
    mut server: &UnixStream,
    request: &AdminRequest,
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

fn first_answer(answers: &mut BufReader<UnixStream>) -> Result<AdminAnswer, Failure> {
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

/// The failure of a connection to a server that does not read or write.
pub(crate) fn cut_off(error: &io::Error) -> Failure {
    Failure::because(format!("the server did not answer: {error}"))
}

/// Connects to the server behind a socket; none if no server listens there. Fails if the listening process runs as a
/// user who is not trusted.
pub(crate) fn connect(server: &ServerAddress) -> Result<Option<UnixStream>, Failure> {
    let ServerAddress { socket, data } = server;
    match UnixStream::connect(socket) {
        Ok(stream) => {
            let peer = user_of_peer(&stream).map_err(|error| cut_off(&error))?;
            let owner = data.as_ref().and_then(|file| fs::metadata(file).ok()).map(|found| found.uid());
            if is_trusted(peer, geteuid().as_raw(), owner) {
                Ok(Some(stream))
            } else {
                Err(foreign(server, peer))
            }
        }
        Err(error) => match error.kind() {
            // The kind `InvalidInput` means that the path is too long for a socket, so no server listens there.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput => {
                Ok(None)
            }
            io::ErrorKind::PermissionDenied => Err(Failure::because(format!(
                "{} belongs to another user: run this command as the server's user",
                socket.display()
            ))),
            _ => Err(Failure::because(format!("{} cannot be opened: {error}", socket.display()))),
        },
    }
}

/// Returns whether the peer's user is trusted: this user, root, or the owner of the data file.
fn is_trusted(peer: u32, own: u32, owner_of_data: Option<u32>) -> bool {
    const ROOT: u32 = 0;
    peer == own || peer == ROOT || owner_of_data == Some(peer)
}

fn foreign(server: &ServerAddress, peer: u32) -> Failure {
    let data = server.data.as_ref().map(|file| format!(", nor the owner of {}", file.display()));
    Failure::because(format!(
        "a process of user {peer} listens at {}, which is neither your user nor root{}: nothing was sent to it; if \
            it is your server, name its data file with --db, or run this command as that user",
        server.socket.display(),
        data.unwrap_or_default()
    ))
}

/// The user of the process at the other end. tokio asks the system, because std has no stable function for it.
fn user_of_peer(stream: &UnixStream) -> io::Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    let copy = stream.try_clone()?;
    // The copy and the original share the non-blocking flag, so the flag is cleared again below.
    copy.set_nonblocking(true)?;
    let peer = tokio::net::UnixStream::from_std(copy)?.peer_cred()?.uid();
    stream.set_nonblocking(false)?;
    Ok(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_user_of_root_or_of_the_data_files_owner_is_trusted() {
        for (peer, own, owner, expected) in [
            (1000, 1000, None, true),
            (0, 1000, None, true),
            (990, 1000, Some(990), true),
            (990, 0, Some(990), true),
            (990, 1000, None, false),
            (990, 0, None, false),
            (990, 1000, Some(1000), false),
            (990, 0, Some(0), false),
        ] {
            assert_eq!(is_trusted(peer, own, owner), expected, "{peer} {own} {owner:?}");
        }
    }

    #[test]
    fn the_user_of_a_peer_is_known_and_the_stream_still_blocks() {
        let (client, mut server) = UnixStream::pair().unwrap();
        assert_eq!(user_of_peer(&client).unwrap(), geteuid().as_raw());
        // A read waits until the writer has written, so the stream still blocks.
        let writer = std::thread::spawn(move || server.write_all(b"x").unwrap());
        assert_eq!((&client).read(&mut [0]).unwrap(), 1);
        writer.join().unwrap();
    }

    #[test]
    fn the_first_answer_has_a_time_limit_and_later_lines_have_none() {
        const PATIENCE: Duration = Duration::from_millis(20);
        for request in [AdminRequest::Import { rename_collisions: false }, AdminRequest::Export] {
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
