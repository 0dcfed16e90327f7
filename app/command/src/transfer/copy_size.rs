//! The progress of a copy that the engine makes: the size of the files that it writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use petstore_ports::{WorkPhase, WorkProgress, WorkUnit};
use petstore_sqlite::{PartialFile, companion};

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_millis(200);

/// Watches the files of a copy until the value is dropped.
pub(super) struct CopySize {
    /// Dropped first, which ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CopySize {
    /// Watches the copy of `source` to `target`.
    pub(super) fn watch(source: &Path, target: &Path, progress: &Arc<dyn WorkProgress>) -> Self {
        // The copy has no events and no unused pages, so it is not larger than the data.
        let total = fs::metadata(source).ok().map(|found| found.len());
        progress.begin(WorkPhase { name: "copying", unit: WorkUnit::Bytes, total });
        let copy = PartialFile::path_of(target);
        // If there are events, the engine first makes a copy with them.
        let files = [PartialFile::path_of(&companion(&copy, ".events")), copy];
        let (end, ended) = channel::<()>();
        let progress = Arc::clone(progress);
        let look = move || {
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                progress.reached(size(&files));
            }
            progress.end();
        };
        let thread = std::thread::Builder::new().name("petstore-copy".to_owned()).spawn(look);
        Self { end: Some(end), thread: thread.ok() }
    }
}

impl Drop for CopySize {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The bytes of these files together.
fn size(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).sum()
}
