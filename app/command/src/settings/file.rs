//! The settings file: TOML, one key for each setting, with line numbers for messages.

use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::secrecy::shown;
use crate::failure::Failure;
use crate::text_file::{self, FileBound};

/// The occasion on which a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// At a start. Reading may block on a pipe.
    First,
    /// By a running server.
    Again,
}

impl Reading {
    /// Refuses to read a file again at a reload if it is not a regular file. A pipe is empty after the first read. A
    /// server that waited for more bytes would handle no signal meanwhile. A folder passes this check, because reading
    /// it fails with a clear error.
    pub(crate) fn check(self, file: &Path) -> io::Result<()> {
        const NO_FILE: &str = "it is not a regular file, so a reload cannot read it again";
        let is_endless = || fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if self == Self::Again && is_endless() { Err(io::Error::other(NO_FILE)) } else { Ok(()) }
    }
}

/// The maximum size of a settings file.
const FILE_MAX: FileBound = FileBound { bytes: 1024 * 1024, content: "settings" };

/// A settings file that was parsed; its values are not checked yet.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) entries: Vec<Entry>,
}

/// One setting in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The value in the form of a flag: the items of a list are joined with commas. None for an empty list.
    pub(crate) value: Result<Option<String>, &'static str>,
    /// Set for a number or a boolean. A setting that takes a text must be quoted.
    pub(crate) is_bare: bool,
    /// The line, from 1.
    pub(crate) line: usize,
}

impl Entry {
    /// Returns whether the value is an empty text, which counts as not set, like an empty environment variable.
    pub(super) fn is_unset(&self) -> bool {
        matches!(&self.value, Ok(Some(text)) if text.is_empty())
    }
}

impl SettingsFile {
    pub(crate) fn read(path: &Path, reading: Reading) -> Result<Self, Failure> {
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::usage(format!("{} cannot be read: {why}", path.display()));
        reading.check(path).map_err(|error| unreadable(&error))?;
        let text = text_file::read(path, FILE_MAX).map_err(|error| unreadable(&error))?;
        let entries = entries(&text)
            .map_err(|(line, why)| Failure::usage(format!("{}:{line}: {why}", path.display())))?;
        Ok(Self { path: path.to_owned(), entries })
    }

    /// Returns the entry of a setting; none if the file has none, or has an entry with an empty text, which counts as
    /// not set.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key && !entry.is_unset())
    }

    /// The file and the line of an entry, in the form of a compiler's message.
    pub(crate) fn place(&self, entry: &Entry) -> String {
        format!("{}:{}", self.path.display(), entry.line)
    }
}

/// Parses the file. On an error returns its line and the reason.
fn entries(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    // The keys of an invalid file are still parsed, so that the message can name the faulty key.
    let (table, faults) = DeTable::parse_recoverable(text);
    let start = |fault: &Error| fault.span().map_or(0, |span| span.start);
    if let Some(fault) = faults.iter().min_by_key(|fault| start(fault)) {
        return Err(explain(text, table.get_ref(), fault));
    }
    let mut entries: Vec<_> = table
        .into_inner()
        .into_iter()
        .map(|(key, value)| Entry {
            line: line_at(text, key.span().start),
            key: key.into_inner().into_owned(),
            value: as_flag(&value),
            is_bare: matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Boolean(_)),
        })
        .collect();
    entries.sort_by_key(|entry| entry.line);
    match entries.iter().find(|entry| entry.key.is_empty()) {
        Some(nameless) => Err((nameless.line, NAMELESS.to_owned())),
        None => Ok(entries),
    }
}

/// The number of the line at this offset, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].split(|b| *b == b'\n').count()
}

/// A part of the file as the beginning of a message. It is left out if a secret may stand in it.
fn named(part: &str) -> String {
    let shown = shown(part, true);
    if part.is_empty() || shown != part { String::new() } else { format!("{part}: ") }
}

const NAMELESS: &str = "a value without a key";

/// Describes a syntax error: its line and key, and the reason.
fn explain(text: &str, table: &DeTable<'_>, fault: &Error) -> (usize, String) {
    let place = fault.span().unwrap_or_default();
    let here = line_at(text, place.start);
    let of_text = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().trim();
    if fault.message() == "duplicate key" {
        let key = of_text(place).trim_matches(['"', '\'']);
        let first = table.keys().find(|known| known.get_ref() == key);
        let first = first.map(|known| line_at(text, known.span().start)).filter(|line| *line != here);
        let first = first.map_or_else(String::new, |line| format!("; first on line {line}"));
        return (here, format!("{}set twice{first}", named(key)));
    }
    let around = |(key, value): &(&Spanned<_>, &Spanned<_>)| {
        (key.span().start..=value.span().end.max(key.span().end)).contains(&place.start)
    };
    let Some((key, value)) = table.iter().find(around) else {
        // The line has no `=`.
        let before = text.get(..place.start).unwrap_or_default();
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let words = of_text(begin..place.start);
        return (here, format!("{}{}", named(words), fault.message()));
    };
    let line = line_at(text, key.span().start);
    let why = match (key.get_ref().as_ref(), of_text(value.span())) {
        ("", _) => return (line, NAMELESS.to_owned()),
        (_, "") => "the value is missing".to_owned(),
        (_, quoted) if quoted.starts_with(['"', '\'', '[', '{']) => fault.message().to_owned(),
        (_, bare) => {
            format!("{}expected a text in quotes, a number, true, false, or a list of texts", named(bare))
        }
    };
    (line, format!("{}{why}", named(key.get_ref())))
}

fn as_flag(value: &Spanned<DeValue<'_>>) -> Result<Option<String>, &'static str> {
    const EXPECTED: &str = "expected a text, a number, true, false, or a list of texts";
    match value.get_ref() {
        DeValue::String(text) => Ok(Some(text.clone().into_owned())),
        DeValue::Integer(number) => Ok(Some(number.to_string())),
        DeValue::Boolean(yes) => Ok(Some(yes.to_string())),
        DeValue::Array(items) => {
            let items: Result<Vec<_>, _> = items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) if text.is_empty() => Err("a text in the list is empty"),
                    DeValue::String(text) if !text.contains(',') => Ok(text.clone().into_owned()),
                    _ => Err(EXPECTED),
                })
                .collect();
            Ok(Some(items?).filter(|items| !items.is_empty()).map(|items| items.join(",")))
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => Err(EXPECTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_form_of_flags_and_their_line() {
        let text = "# first\nlisten = \"[::1]:80\"\n\nhosts = [\n  \"a\",\n  \"b\",\n]\nthreads = 2\ndemo=1_000\nsunset = false\n";
        let read: Vec<_> =
            entries(text).unwrap().into_iter().map(|e| (e.line, e.key, e.value.unwrap().unwrap())).collect();
        let expected = [
            (2, "listen", "[::1]:80"),
            (4, "hosts", "a,b"),
            (8, "threads", "2"),
            (9, "demo", "1000"),
            (10, "sunset", "false"),
        ];
        let expected = expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn invalid_toml_and_invalid_values_are_reported_with_their_line() {
        assert_eq!(entries("a = 1\nb = \n").unwrap_err().0, 2);
        assert_eq!(entries("a = 1\na = 2\n").unwrap_err().0, 2);
        for text in ["a = 1.5", "[a]\nb = 1", "a = 2030-01-01", "a = [1, 2]", "a = [\"x,y\"]"] {
            assert!(entries(text).unwrap()[0].value.is_err(), "{text}");
        }
    }
}
