//! The last part of what a command prints.

use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use std::{io, thread};

use parking_lot::Mutex;

/// The number of bytes that are kept.
const KEPT: usize = 64 * 1024;

/// The time for which the end of the output is awaited when the command and its processes have ended. Where a system cannot
/// end processes that left the group of the command, one of them may hold the output open.
const END_TIME: Duration = Duration::from_secs(1);

/// The output of a command, read on a thread, so that the command never waits for its reader.
pub(super) struct OutputTail {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl OutputTail {
    /// Returns the tail, and the end of the pipe that the command writes to.
    pub(super) fn open() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = pipe()?;
        let kept = Arc::new(Mutex::new(vec![]));
        let (end, ended) = sync_channel(1);
        let read = Arc::clone(&kept);
        thread::Builder::new().name("petstore-output".to_owned()).spawn(move || {
            follow(reader, &read);
            let _ = end.send(());
        })?;
        Ok((Self { kept, ended }, writer))
    }

    /// Returns what was kept, once the output has ended.
    pub(super) fn text(self) -> String {
        let _ = self.ended.recv_timeout(END_TIME);
        let kept = self.kept.lock();
        let text = String::from_utf8_lossy(&kept);
        // A character that was cut at the beginning is left out.
        text.trim_start_matches('\u{fffd}').to_owned()
    }
}

fn follow(mut reader: PipeReader, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 8192];
    loop {
        match reader.read(&mut part) {
            Ok(0) => return,
            Ok(length) => push(&mut kept.lock(), &part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn push(kept: &mut Vec<u8>, part: &[u8]) {
    kept.extend_from_slice(part);
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let (tail, mut writer) = OutputTail::open().unwrap();
        let line = "é".repeat(1_000);
        for number in 0..100 {
            writeln!(writer, "{number} {line}").unwrap();
        }
        drop(writer);
        let text = tail.text();
        assert!(text.len() <= KEPT && text.len() > KEPT - 4, "{}", text.len());
        assert!(text.ends_with(&format!("99 {line}\n")) && !text.contains('\u{fffd}'));
    }
}
