//! The mark of the last batch that is known to be on disk, as an extended attribute of the data file.
//!
//! For SQLite an empty log is a log without changes, so the log of a killed server can be emptied or lost unnoticed. The
//! mark is written after the commit of its batch, so a sound file with its log is never behind the mark. The mark is
//! not synced: after a power cut it may be older. It belongs to the inode and is not in a copy of the file. A use that
//! ends normally removes it, because the data file then holds everything by itself.
//!
//! A copy may be written over the file of a killed server, and then has the mark of the content before it. So the mark
//! names the epoch of its content, and the next use removes a mark that is not of the content that it accepts.

use std::fs::File;
use std::path::Path;

use petstore_platform::{mark, mark_at, mark_of, unmark};
use petstore_ports::BatchNumber;

use crate::epoch_text::digits;

/// The name of the attribute. Its value is the epoch in hexadecimal digits, a colon, and the number of the batch as decimal
/// text. Without an epoch, as older versions wrote it, the value is only the number.
const MARK: &str = "user.petstore.last_batch";

/// The longest value in bytes: that of the largest number.
const MARK_MAX: usize = 16 + 1 + 20;

/// The mark of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// None if the mark counts for every epoch.
    epoch: Option<u64>,
    /// The last batch that was on disk.
    pub(crate) last: BatchNumber,
}

impl Mark {
    /// Returns true if the mark can be one of a content with this epoch.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch.is_none_or(|marked| marked == epoch)
    }

    /// Returns true if the mark names this epoch.
    pub(crate) fn names(&self, epoch: u64) -> bool {
        self.epoch == Some(epoch)
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        let (epoch, last) = match text.split_once(':') {
            Some((epoch, last)) => (Some(u64::from_str_radix(epoch, 16).ok()?), last),
            None => (None, text),
        };
        Some(Self { epoch, last: BatchNumber(last.parse().ok()?) })
    }
}

/// The mark that one use of a data file sets.
#[derive(Debug)]
pub(crate) struct Marker {
    epoch: Option<u64>,
    last: BatchNumber,
}

impl Marker {
    /// A marker that has marked nothing yet, for a file of this epoch.
    pub(crate) const fn new(epoch: u64) -> Self {
        Self { epoch: Some(epoch), last: BatchNumber(0) }
    }

    /// Returns true if a batch has been marked.
    pub(crate) fn is_set(&self) -> bool {
        self.last > BatchNumber(0)
    }

    /// Leaves the epoch out of later marks, if the file is about to get a new one: without its log it would have the epoch
    /// before that again.
    pub(crate) const fn expect_epoch(&mut self, new: Option<u64>) {
        if new.is_some() {
            self.epoch = None;
        }
    }

    /// Marks a batch, unless it is marked. Does nothing if the file system has no extended attributes.
    pub(crate) fn set(&mut self, data: &File, last: BatchNumber) {
        if last > self.last {
            let value = match self.epoch {
                Some(epoch) => format!("{}:{}", digits(epoch), last.0),
                None => last.0.to_string(),
            };
            mark(data, MARK, value.as_bytes());
            self.last = last;
        }
    }

    /// Removes the mark of another content: one of another epoch, or of a batch after `kept`. Call it once the content of
    /// the file is accepted.
    pub(crate) fn remove_stale(&self, data: &File, kept: BatchNumber) {
        let mut value = [0; MARK_MAX];
        let mark = mark_of(data, MARK, &mut value).and_then(Mark::parse);
        if mark.is_some_and(|mark| mark.last > kept || self.epoch.is_some_and(|epoch| !mark.is_of(epoch))) {
            remove(data);
        }
    }
}

/// Returns the mark of a database; none without a mark.
pub(crate) fn read(database: &Path) -> Option<Mark> {
    let mut value = [0; MARK_MAX];
    Mark::parse(mark_at(database, MARK, &mut value)?)
}

/// Removes the mark. The file is the one that was opened: its path may lead to another one meanwhile.
pub(crate) fn remove(data: &File) {
    unmark(data, MARK);
}
