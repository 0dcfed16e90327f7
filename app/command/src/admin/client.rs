//! The client's end of the admin socket.
//!
//! A socket's path says nothing of who answers there: any user may open one in a folder that is open to all. So the system
//! is asked whose process it is, before anything is sent.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::geteuid;

use super::{AdminAnswer, AdminRequest, LINE_MAX, LINE_TIME};
use crate::failure::Failure;

/// A server as a command names it.
#[derive(Debug, Clone)]
pub(crate) struct ServerAddress {
    /// Its admin socket.
    pub(crate) socket: PathBuf,
    /// Its data file, whose owner it may run as; none for a store in memory.
    pub(crate) data: Option<PathBuf>,
}

/// Asks the server behind a socket; none if no server is there.
pub(crate) fn ask(server: &ServerAddress, request: &AdminRequest) -> Result<Option<AdminAnswer>, Failure> {
    ask_within(LINE_TIME, server, request)
}

/// The same of a server that is waited for no longer than this.
pub(crate) fn ask_within(
    patience: Duration,
    server: &ServerAddress,
    request: &AdminRequest,
) -> Result<Option<AdminAnswer>, Failure> {
    let Some(server) = connect(server)? else { return Ok(None) };
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
    request: &AdminRequest,
    patience: Duration,
) -> Result<BufReader<UnixStream>, Failure> {
    let (answers, first) = begun(server, request, patience)?;
    first.understood().map(|_| answers)
}

/// The same for a request that may have another answer first.
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

/// Sends a request, and returns what the answers are read from. Either side is waited for no longer than this.
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

/// A connection to the server behind a socket; none if no server is there. Refuses a process of somebody else.
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

/// Whether a process of this user may be the server that a command of that one means: its own, the superuser's, who may
/// do anything in any case, or that of the data's owner.
fn is_trusted(peer: u32, own: u32, owner_of_data: Option<u32>) -> bool {
    const ROOT: u32 = 0;
    peer == own || peer == ROOT || owner_of_data == Some(peer)
}

fn foreign(server: &ServerAddress, peer: u32) -> Failure {
    let data = server.data.as_ref().map(|file| format!(", nor the owner of {}", file.display()));
    Failure::because(format!(
        "a process of user {peer} answers at {}, who is not you, nor root{}: nothing was sent to it; if it is your \
         server, name its data file with --db, or run this as that user",
        server.socket.display(),
        data.unwrap_or_default()
    ))
}

/// The user whose process listens at the other end. Asked through tokio: std has no stable way, and systems differ.
fn user_of_peer(stream: &UnixStream) -> io::Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    let copy = stream.try_clone()?;
    // Both are one to the system in this.
    copy.set_nonblocking(true)?;
    let peer = tokio::net::UnixStream::from_std(copy)?.peer_cred()?.uid();
    stream.set_nonblocking(false)?;
    Ok(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_trusted_that_is_one_s_own_or_root_s_or_the_owner_s_of_the_data() {
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
    fn the_user_of_a_peer_is_asked_of_the_system_and_the_stream_stays_as_it_was() {
        let (client, mut server) = UnixStream::pair().unwrap();
        assert_eq!(user_of_peer(&client).unwrap(), geteuid().as_raw());
        // It still waits for what comes.
        let writer = std::thread::spawn(move || server.write_all(b"x").unwrap());
        assert_eq!((&client).read(&mut [0]).unwrap(), 1);
        writer.join().unwrap();
    }

    #[test]
    fn a_server_that_says_nothing_is_waited_for_as_long_as_a_line_may_take_and_its_lines_for_longer() {
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
