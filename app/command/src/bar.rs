//! The bar on a terminal, of which a process has one. It is drawn on the last line, so other lines are written above it.
//!
//! It is our own, because the library for it would add four packages to those that users of the binary must trust.

use std::io::{self, Write};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_platform::terminal_columns;

/// Moves to the start of the line, and erases the line.
const ERASE: &str = "\r\x1b[K";

/// The columns of a terminal that does not tell its width.
const COLUMNS: usize = 80;

/// The columns of the bar itself, at most and at least. On a terminal without room for the least there are only the texts.
const BAR_MAX: usize = 30;
const BAR_MIN: usize = 5;

/// The time for which the end of work waits for the removal of its bar. A terminal may be paused, and must not stop the work.
const CLEAR_TIME: Duration = Duration::from_millis(100);

/// The line of the bar, while one is shown.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// The texts and the length of a bar.
pub(crate) struct Drawing<'d> {
    /// The text before the bar.
    pub(crate) name: &'d str,
    /// The text after the bar.
    pub(crate) figures: &'d str,
    pub(crate) done: u64,
    /// None if the length is not known. Then there are only the texts.
    pub(crate) total: Option<u64>,
}

/// Draws the bar in place of the one before, unless its work has ended meanwhile.
pub(crate) fn draw(drawing: &Drawing<'_>, is_current: impl FnOnce() -> bool) {
    let line = drawing.line(terminal_columns().unwrap_or(COLUMNS));
    let mut shown = SHOWN.lock();
    if is_current() {
        write(&format!("{ERASE}{line}"));
        *shown = Some(line);
    }
}

/// Removes the bar.
pub(crate) fn clear() {
    if let Some(mut shown) = SHOWN.try_lock_for(CLEAR_TIME)
        && shown.take().is_some()
    {
        write(ERASE);
    }
}

/// Runs a function that writes lines to standard error. They appear above the bar.
pub(crate) fn above_bar<T>(lines: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock();
    let Some(line) = &*shown else {
        // Lines without a bar do not wait for each other.
        drop(shown);
        return lines();
    };
    write(ERASE);
    let written = lines();
    write(line);
    written
}

/// Standard error, with its lines above the bar.
pub(crate) fn stderr_above_bar() -> impl Write {
    AboveBar(io::stderr())
}

struct AboveBar<W>(W);

impl<W: Write> Write for AboveBar<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above_bar(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes at once. A terminal that cannot be written shows no bar, and the work goes on.
fn write(text: &str) {
    let mut output = io::stderr().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

impl Drawing<'_> {
    /// The line for a terminal with this many columns. The last column stays free, since some terminals go to the next line
    /// behind it.
    fn line(&self, columns: usize) -> String {
        let room = columns.saturating_sub(1);
        let texts = self.name.chars().count() + self.figures.chars().count();
        // Brackets and spaces around the bar take four columns.
        let length = room.saturating_sub(texts + 4).min(BAR_MAX);
        let line = match self.total {
            Some(total) if length >= BAR_MIN => {
                let filled = filled(self.done, total, length);
                let (full, empty) = ("=".repeat(filled), " ".repeat(length - filled));
                format!("{} [{full}{empty}] {}", self.name, self.figures)
            }
            _ => format!("{}: {}", self.name, self.figures),
        };
        line.chars().take(room).collect()
    }
}

/// The part of a bar of this length that is full.
fn filled(done: u64, total: u64, length: usize) -> usize {
    let part = u128::from(done) * length as u128 / u128::from(total.max(1));
    usize::try_from(part).unwrap_or(length).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(done: u64, total: Option<u64>, columns: usize) -> String {
        Drawing { name: "reading", figures: "9 rows, 1 s left", done, total }.line(columns)
    }

    #[test]
    fn a_bar_fills_the_room_between_its_texts() {
        assert_eq!(line(5, Some(10), 38), "reading [=====     ] 9 rows, 1 s left");
        assert_eq!(line(10, Some(10), 38), "reading [==========] 9 rows, 1 s left");
        assert_eq!(line(0, Some(10), 38), "reading [          ] 9 rows, 1 s left");
        assert_eq!(
            line(1, Some(2), 200).len(),
            7 + 2 + BAR_MAX + 2 + 16,
            "it is not longer than can be seen at once"
        );
    }

    #[test]
    fn without_room_or_a_total_there_are_only_the_texts() {
        assert_eq!(line(5, None, 80), "reading: 9 rows, 1 s left");
        assert_eq!(line(5, Some(10), 30), "reading: 9 rows, 1 s left");
        assert_eq!(line(5, Some(10), 12), "reading: 9 ", "a line never goes on to the next one");
        assert_eq!(line(5, Some(10), 0), "");
    }

    #[test]
    fn a_total_that_is_too_small_fills_the_bar() {
        assert_eq!((filled(7, 0, 5), filled(u64::MAX, 1, 5), filled(0, 0, 5)), (5, 5, 0));
    }
}
