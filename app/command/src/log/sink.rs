//! The log's output: a bounded queue and a thread that writes, so that logging never blocks.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::bar::stderr_above_bar;

/// Maximum number of queued lines. Further lines are dropped. They are counted together with the lines that cannot be
/// written.
const LINES_MAX: usize = 8_192;

/// The maximum time for which the end of a process waits until the last lines are written.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Sink {
    /// None once the sink is closed.
    lines: Mutex<Option<Lines>>,
    dropped: Arc<AtomicU64>,
}

struct Lines {
    sender: Sender<String>,
    /// Disconnected when all lines are written.
    done: std::sync::mpsc::Receiver<()>,
}

impl Sink {
    /// Starts the thread. `lost` makes the line that reports a number of dropped lines.
    pub(super) fn to_standard_error(lost: impl Fn(u64) -> String + Send + 'static) -> Self {
        // A channel of tokio allocates memory as it fills; a channel of std allocates its whole capacity at once.
        let (sender, mut lines) = channel(LINES_MAX);
        let (alive, done) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        let writer = move || {
            write_all(&mut lines, &mut stderr_above_bar(), &counted, lost);
            drop(alive);
        };
        // If the thread cannot be started, nothing is logged, but the server still serves.
        let _ = thread::Builder::new().name("petstore-log".to_owned()).spawn(writer);
        Self { lines: Mutex::new(Some(Lines { sender, done })), dropped }
    }

    /// Queues a line if there is room.
    pub(super) fn write(&self, line: String) {
        let lines = self.lines.lock();
        let Some(lines) = &*lines else { return };
        if lines.sender.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Closes the queue and waits until the queued lines are written, for at most [`PATIENCE`].
    pub(super) fn close(&self) {
        let Some(Lines { sender, done }) = self.lines.lock().take() else { return };
        drop(sender);
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// Writes lines until the queue is closed. Lines that wait are written together.
fn write_all(
    lines: &mut Receiver<String>,
    output: &mut impl Write,
    dropped: &AtomicU64,
    tell: impl Fn(u64) -> String,
) {
    let (mut told, mut is_torn) = (0, false);
    while let Some(first) = lines.blocking_recv() {
        // If the last line was written in part, that line is ended first.
        let ended = if is_torn { "\n" } else { "" };
        let mut text = ended.to_owned() + &first;
        while text.len() < 64 * 1024
            && let Ok(line) = lines.try_recv()
        {
            text.push_str(&line);
        }
        let lost = dropped.load(Ordering::Relaxed);
        let of_lines = text.len();
        if lost > told {
            text.push_str(&tell(lost - told));
        }
        // A log that cannot be written does not stop the server.
        let written = write_some(output, text.as_bytes());
        if written == text.len() {
            told = lost;
        }
        if written > 0 {
            is_torn = text.as_bytes()[written - 1] != b'\n';
        }
        let unwritten = text.as_bytes()[..of_lines].get(written.max(ended.len())..).unwrap_or_default();
        let unwritten = unwritten.split(|byte| *byte == b'\n').count() - 1;
        dropped.fetch_add(unwritten as u64, Ordering::Relaxed);
    }
}

/// Writes as much as possible and returns the number of bytes.
fn write_some(output: &mut impl Write, bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() {
        match output.write(&bytes[written..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(length) => written += length,
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with a limited number of free bytes.
    struct Disk {
        text: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = bytes.len().min(self.room);
            if length == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= length;
            self.text.extend_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn told(lost: u64) -> String {
        format!("{lost} lost\n")
    }

    /// Writes a batch of lines to a disk. Returns the text that the disk accepted, and the total number of lost lines.
    fn after(disk: &mut Disk, dropped: &AtomicU64, lines: &[&str]) -> (String, u64) {
        let (sender, mut receiver) = channel(LINES_MAX);
        for line in lines {
            sender.try_send((*line).to_owned()).unwrap();
        }
        drop(sender);
        write_all(&mut receiver, disk, dropped, told);
        (String::from_utf8(std::mem::take(&mut disk.text)).unwrap(), dropped.load(Ordering::Relaxed))
    }

    #[test]
    fn lines_that_a_full_disk_refuses_are_counted() {
        for (room, text, lost) in [
            (100, "one\ntwo\nthree\n", 0),
            (8, "one\ntwo\n", 1),
            (6, "one\ntw", 2),
            (7, "one\ntwo", 2),
            (0, "", 3),
        ] {
            let mut disk = Disk { text: Vec::new(), room };
            let written = after(&mut disk, &AtomicU64::new(0), &["one\n", "two\n", "three\n"]);
            assert_eq!(written, (text.to_owned(), lost), "{room}");
        }
    }

    #[test]
    fn lost_lines_are_reported_once_when_there_is_room_and_the_report_is_not_counted() {
        let (dropped, mut disk) = (AtomicU64::new(2), Disk { text: Vec::new(), room: 4 });
        assert_eq!(after(&mut disk, &dropped, &["one\n"]), ("one\n".to_owned(), 2));
        disk.room = 100;
        assert_eq!(after(&mut disk, &dropped, &["two\n"]), ("two\n2 lost\n".to_owned(), 2));
    }

    #[test]
    fn a_line_after_a_partial_line_begins_on_a_new_line() {
        /// An output that accepts four bytes of the first write, then fails twice, then accepts everything.
        struct Torn(Vec<Vec<u8>>);
        impl Write for Torn {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                // The second write is the rest of the first line, and the third write is the second line. Both fail.
                if (1..3).contains(&self.0.len()) {
                    self.0.push(Vec::new());
                    return Err(io::ErrorKind::StorageFull.into());
                }
                let length = if self.0.is_empty() { 4 } else { bytes.len() };
                self.0.push(bytes[..length].to_vec());
                Ok(length)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (sender, mut receiver) = channel(LINES_MAX);
        // Each line is longer than the largest single write, so that the next line is written separately.
        let long = format!("{}\n", "x".repeat(64 * 1024));
        for line in [&long, &long, "next\n"] {
            sender.try_send(line.to_owned()).unwrap();
        }
        drop(sender);
        let (mut torn, dropped) = (Torn(Vec::new()), AtomicU64::new(0));
        write_all(&mut receiver, &mut torn, &dropped, told);
        assert_eq!(torn.0.concat(), b"xxxx\nnext\n2 lost\n");
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }
}
