//! The channel between a command and the server of this machine: a socket of the file system, or a connection over loopback
//! whose two ends prove to each other that they know the secret in a private file.

use std::io;

use petstore_platform::{own_user, owner_at};

use super::ServerAddress;
use crate::failure::Failure;

#[cfg(all(unix, not(petstore_portable)))]
mod socket_staging;
#[cfg(all(unix, not(petstore_portable)))]
#[path = "channel/unix.rs"]
mod system;
#[cfg(not(all(unix, not(petstore_portable))))]
#[path = "channel/loopback.rs"]
mod system;

#[cfg(test)]
pub(crate) use self::system::pair;
pub(super) use self::system::{AsyncStream, Listener};
pub(crate) use self::system::{Stream, connect};

/// The user that every other user trusts.
const ROOT: u32 = 0;

/// The failure of a connection to a server that does not read or write.
pub(crate) fn cut_off(error: &io::Error) -> Failure {
    Failure::because(format!("the server did not answer: {error}"))
}

/// The failure of a command whose user may not reach the server.
fn belongs_to_another(server: &ServerAddress) -> Failure {
    Failure::because(format!(
        "{} belongs to another user: run this command as the server's user",
        server.socket.display()
    ))
}

/// Fails if a user that is not trusted has opened the channel.
fn check_user(server: &ServerAddress, peer: u32) -> Result<(), Failure> {
    let owner = server.data.as_ref().and_then(|file| owner_at(file));
    if is_trusted(peer, own_user(), owner) { Ok(()) } else { Err(foreign(server, peer)) }
}

/// Returns whether the peer's user is trusted: this user, root, or the owner of the data file.
fn is_trusted(peer: u32, own: Option<u32>, owner_of_data: Option<u32>) -> bool {
    peer == ROOT || [own, owner_of_data].contains(&Some(peer))
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
            assert_eq!(is_trusted(peer, Some(own), owner), expected, "{peer} {own} {owner:?}");
        }
    }
}
