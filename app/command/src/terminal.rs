//! Output to terminals, which act on some characters.
//!
//! An answer may come from a process that imitates the server, and a data file may come from anywhere. So text for a
//! terminal is escaped by [`visible`], and JSON by [`visible_json`], which changes no value.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use crate::bar::above_bar;
use crate::failure::Failure;

/// Prints to standard output. A closed pipe is not a failure, because the reader of the pipe needs no more text.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_while_read(text).map(|_| ())
}

/// Prints a part of a continuous output. Breaks once standard output is closed, because the reader needs no more text.
pub(crate) fn print_while_read(text: &str) -> Result<ControlFlow<()>, Failure> {
    match write_out(text) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(unwritten(&error)),
    }
}

/// Prints to standard output a text that is shown only once. A closed pipe is a failure.
pub(crate) fn print_once(text: &str) -> Result<(), Failure> {
    write_out(text).map_err(|error| unwritten(&error))
}

fn write_out(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush())
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::because(format!("cannot write to standard output: {error}"))
}

/// Prints a line for the operator to standard error. If standard error cannot be written, the command continues.
pub(crate) fn notify(message: &str) {
    let _ = above_bar(|| writeln!(io::stderr(), "petstore: {}", visible(message)));
}

/// Prints the last line of a process to standard error, within a bounded time. Without the bound, a pipe that is not
/// read would keep the process from ending, while a supervisor waits for its end.
pub(crate) fn notify_before_exit(message: String) {
    const WAIT_MAX: Duration = Duration::from_secs(1);
    let (written, done) = std::sync::mpsc::sync_channel(1);
    let writer = std::thread::Builder::new().spawn(move || {
        notify(&message);
        let _ = written.send(());
    });
    if writer.is_ok() {
        let _ = done.recv_timeout(WAIT_MAX);
    }
}

/// Escapes control characters, except line feeds.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |sign| sign != '\n' && acts(sign), |sign| sign.escape_unicode().to_string())
}

/// Escapes control characters, line feeds included.
pub(crate) fn visible_line(text: &str) -> Cow<'_, str> {
    written_out(text, acts, |sign| sign.escape_unicode().to_string())
}

/// Escapes control characters in JSON without changing a value, because such characters occur only in strings, and line
/// feeds only between values.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    // All escaped characters are in the basic plane, so four digits are enough.
    written_out(json, |sign| sign != '\n' && acts(sign), |sign| format!("\\u{:04x}", u32::from(sign)))
}

/// Returns whether a terminal treats a character as an instruction or shows nothing for it: a control character, an
/// invisible mark, or a mark that changes the direction of text. Joiners stay, because they belong to the spelling of
/// names.
fn acts(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

fn written_out(text: &str, is_meant: impl Fn(char) -> bool, form: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&is_meant) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        if is_meant(sign) { written.push_str(&form(sign)) } else { written.push(sign) }
    }
    Cow::Owned(written)
}

/// A writer of JSON lines to a terminal. Invalid UTF-8 is replaced.
pub(crate) struct Lines<W> {
    output: W,
    /// The incomplete line.
    begun: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(crate) fn new(output: W) -> Self {
        Self { output, begun: Vec::new() }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        self.begun.extend_from_slice(&bytes[..length]);
        if self.begun.last() == Some(&b'\n') {
            let line = std::mem::take(&mut self.begun);
            self.output.write_all(visible_json(&String::from_utf8_lossy(&line)).as_bytes())?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, expected) in [
            ("Ñandú 🐇, 兎 and \u{200d}", "Ñandú 🐇, 兎 and \u{200d}"),
            ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"),
            ("a\rb\tc\u{8}", "a\\u{d}b\\u{9}c\\u{8}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("\u{202e}txt", "\\u{202e}txt"),
            ("a\u{200b}\u{feff}b", "a\\u{200b}\\u{feff}b"),
            ("\u{646}\u{200c}\u{647}", "\u{646}\u{200c}\u{647}"),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(visible_line(text), expected);
        }
        assert_eq!((visible("a\nb"), visible_line("a\nb")), ("a\nb".into(), "a\\u{a}b".into()));
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"name": "\u{1b}[2J\u{9b}\u{7f}\u{202e} \\ \" é\n"});
        let shown = visible_json(&format!("{value:#}\n")).into_owned();
        assert!(!shown.contains(|sign| sign != '\n' && acts(sign)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn lines_are_escaped_as_a_whole() {
        let text = "{\"name\":\"\u{9b}é\"}\n{}\n".as_bytes();
        for size in 1..text.len() {
            let mut lines = Lines::new(Vec::new());
            text.chunks(size).for_each(|part| lines.write_all(part).unwrap());
            assert_eq!(lines.output, "{\"name\":\"\\u009bé\"}\n{}\n".as_bytes(), "{size}");
        }
        let mut lines = Lines::new(Vec::new());
        lines.write_all(b"\xff\x1b\n").unwrap();
        assert_eq!(lines.output, "\u{fffd}\\u001b\n".as_bytes());
    }
}
