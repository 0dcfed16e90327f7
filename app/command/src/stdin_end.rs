//! The end of standard input.

use std::io::{self, ErrorKind, Read};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// The pause between two attempts to read, if the program that made the pipe set it to not block.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns a receiver that completes when standard input has ended. A pipe ends when no process has its other end open
/// any more, so it also ends if the program that holds it is killed. What is read is dropped.
///
/// The read blocks a thread, because the kind of standard input is not known: tokio cannot wait for a file.
pub(crate) fn watch() -> io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    let watch = move || {
        drain(io::stdin().lock());
        let _ = ended.send(());
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(watch).map(|_| end)
}

/// Returns a receiver that completes when standard input has a line, or has ended.
pub(crate) fn line() -> io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    let watch = move || {
        let mut first = [0];
        let mut input = io::stdin().lock();
        while matches!(input.read(&mut first), Ok(1..)) && first != *b"\n" {}
        let _ = ended.send(());
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(watch).map(|_| end)
}

/// Reads up to the end. An error is an end, too: nothing can be read any more.
fn drain(mut input: impl Read) {
    let mut dropped = [0; 4096];
    loop {
        match input.read(&mut dropped) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results of a list, then an end.
    struct Scripted(Vec<Result<usize, ErrorKind>>);

    impl Read for Scripted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() { Ok(0) } else { self.0.remove(0).map_err(io::Error::from) }
        }
    }

    #[test]
    fn input_is_read_up_to_its_end_or_an_error() {
        let mut to_end =
            Scripted(vec![Ok(3), Err(ErrorKind::Interrupted), Err(ErrorKind::WouldBlock), Ok(4096)]);
        drain(&mut to_end);
        assert_eq!(to_end.0, []);
        let mut to_error = Scripted(vec![Ok(1), Err(ErrorKind::ConnectionReset), Ok(2)]);
        drain(&mut to_error);
        assert_eq!(to_error.0, [Ok(2)]);
    }
}
