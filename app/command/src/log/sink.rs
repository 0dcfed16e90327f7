//! Where lines go: a bounded queue and a thread that writes, so that nobody who logs waits for a reader.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Lines that may wait. Further ones are dropped, and counted.
const LINES_MAX: usize = 8_192;

/// How long the end of the process waits for whoever reads the log.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Sink {
    /// None once it is closed.
    lines: Mutex<Option<Lines>>,
    dropped: Arc<AtomicU64>,
}

struct Lines {
    sender: Sender<String>,
    /// Ends when all is written.
    done: std::sync::mpsc::Receiver<()>,
}

impl Sink {
    /// `lost` makes the line that tells how many were dropped.
    pub(super) fn to_standard_error(lost: impl Fn(u64) -> String + Send + 'static) -> Self {
        // tokio's, since it has room for as many lines as wait; std's takes all of it at once.
        let (sender, mut lines) = channel(LINES_MAX);
        let (alive, done) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        let writer = move || {
            write_all(&mut lines, &counted, lost);
            drop(alive);
        };
        // Without a thread there is no log; the first line that is not taken says nothing, but serving goes on.
        let _ = thread::Builder::new().name("petstore-log".to_owned()).spawn(writer);
        Self { lines: Mutex::new(Some(Lines { sender, done })), dropped }
    }

    /// Takes a line, if there is room for it.
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

    /// Takes no more lines, and waits until those that wait are written, or for [`PATIENCE`].
    pub(super) fn close(&self) {
        let Some(Lines { sender, done }) = self.lines.lock().take() else { return };
        drop(sender);
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// Writes lines until none can come any more; those that wait are written together.
fn write_all(lines: &mut Receiver<String>, dropped: &AtomicU64, tell: impl Fn(u64) -> String) {
    let mut told = 0;
    while let Some(first) = lines.blocking_recv() {
        let mut text = first;
        while text.len() < 64 * 1024
            && let Ok(line) = lines.try_recv()
        {
            text.push_str(&line);
        }
        let lost = dropped.load(Ordering::Relaxed);
        if lost > told {
            text.push_str(&tell(lost - told));
            told = lost;
        }
        // A log that cannot be written is no reason to stop serving.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
