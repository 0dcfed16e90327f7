//! A record as a command line of curl that sends the request again.
//!
//! The line works in every POSIX shell. Whatever the request contained, the line has printable characters only: other
//! bytes are written as octal escapes of `printf`.

use std::fmt::Write as _;

use petstore_domain::KeyPrefix;

use crate::masking::MASK;
use crate::record::{Protocol, RequestRecord};
use crate::text::is_active;

/// Headers that curl makes from the URL and from the body.
const MADE_BY_CURL: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Headers that curl adds unless it is told not to.
const ADDED_BY_CURL: [&str; 3] = ["Accept", "User-Agent", "Content-Type"];

/// Adds a command line that sends a request again to `authority`. A masked key becomes `$KEY`; further keys become `$KEY2`
/// and so on.
pub fn push_curl(out: &mut Vec<u8>, record: &RequestRecord, authority: &str) {
    let mut line = CommandLine { text: String::new(), keys: Vec::new() };
    line.write(record, authority);
    line.text.push('\n');
    out.extend_from_slice(line.text.as_bytes());
}

/// A command line that is being written.
struct CommandLine {
    text: String,
    /// The prefixes of the keys, in the order of their variables.
    keys: Vec<String>,
}

/// A part of a shell word.
enum Part<'t> {
    /// Printable text.
    Plain(&'t str),
    /// Bytes that are written as escapes.
    Escaped(&'t [u8]),
    /// A masked key, by its prefix.
    Key(&'t str),
}

impl CommandLine {
    fn write(&mut self, record: &RequestRecord, authority: &str) {
        let request = &*record.request;
        let body = record.request_body().filter(|body| body.bytes() > 0);
        let is_head = &*request.method == "HEAD";
        let sent = body.filter(|_| !is_head).map(crate::RecordedBody::kept);
        if let Some(body) = body.filter(|body| body.is_cut() || is_head) {
            let kept = sent.map_or(0, <[u8]>::len);
            // Writing to a string does not fail.
            let _ =
                writeln!(self.text, "# The body had {} bytes; the line sends {kept} of them.", body.bytes());
        }
        // A body that a word cannot hold comes from `printf`. An argument must not be longer than 128 KiB.
        let is_piped = sent.is_some_and(|body| parts_of(body).any(|part| matches!(part, Part::Escaped(_))));
        if is_piped && let Some(body) = sent {
            self.text.push_str("printf ");
            self.push_format(body);
            self.text.push_str(" | ");
        }
        self.text.push_str("curl");
        match request.protocol {
            Protocol::Http2 => self.text.push_str(" --http2"),
            Protocol::Http10 => self.text.push_str(" --http1.0"),
            Protocol::Http11 => {}
        }
        // Without these options curl would expand braces and brackets, and resolve dot segments.
        self.text.push_str(" --globoff --path-as-is");
        if is_head {
            self.text.push_str(" --head");
        } else {
            self.push_option("--request", request.method.as_bytes());
        }
        let scheme = if request.is_secure { "https://" } else { "http://" };
        let (origin_form, is_absolute) = origin_form(&request.target);
        let mut url = [scheme, authority].concat();
        if origin_form.starts_with('/') {
            url.push_str(origin_form);
        }
        self.text.push(' ');
        self.push_word(url.as_bytes());
        if is_absolute || !origin_form.starts_with('/') {
            self.push_option("--request-target", request.target.as_bytes());
        }
        self.push_headers(record, authority, sent.is_some());
        match sent {
            Some(_) if is_piped => self.text.push_str(" --data-binary @-"),
            Some(body) => self.push_option("--data-raw", body),
            None => {}
        }
    }

    fn push_headers(&mut self, record: &RequestRecord, authority: &str, has_body: bool) {
        let request = &*record.request;
        for (name, value) in request.headers.iter() {
            let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
            let is_own_host = lower == "host" && value != authority.as_bytes();
            let is_chunked = lower == "transfer-encoding" && has_body;
            if MADE_BY_CURL.contains(&&*lower) && !is_own_host && !is_chunked {
                continue;
            }
            // curl removes a header that has no value, unless a semicolon stands for the colon.
            let end: &[u8] = if value.is_empty() { b";" } else { b": " };
            self.push_option("--header", &[name, end, value].concat());
        }
        for name in ADDED_BY_CURL {
            let is_added = name != "Content-Type" || has_body;
            if is_added && request.headers.all(name).next().is_none() {
                self.push_option("--header", format!("{name}:").as_bytes());
            }
        }
    }

    fn push_option(&mut self, option: &str, value: &[u8]) {
        self.text.push(' ');
        self.text.push_str(option);
        self.text.push(' ');
        self.push_word(value);
    }

    /// Adds a word of the shell that has this value.
    fn push_word(&mut self, value: &[u8]) {
        if value.is_empty() {
            self.text.push_str("''");
        }
        for part in parts_of(value) {
            match part {
                Part::Plain(text) => self.push_quoted(text),
                Part::Escaped(bytes) => {
                    self.text.push_str("\"$(printf '");
                    self.push_octal(bytes);
                    // A command substitution removes line ends at the end, so a mark protects them. No header and no
                    // target contains one.
                    self.text.push_str("')\"");
                }
                Part::Key(prefix) => self.push_key(prefix),
            }
        }
    }

    /// Adds a word for `printf` that it prints as these bytes. A hyphen at the beginning is escaped, because the shell takes
    /// a word that begins with one for an option.
    fn push_format(&mut self, value: &[u8]) {
        let value = match value {
            [b'-', rest @ ..] => {
                self.text.push('\'');
                self.push_octal(b"-");
                self.text.push('\'');
                rest
            }
            _ => value,
        };
        for part in parts_of(value) {
            match part {
                Part::Plain(text) => self.push_quoted(&text.replace('\\', "\\\\").replace('%', "%%")),
                Part::Escaped(bytes) => {
                    self.text.push('\'');
                    self.push_octal(bytes);
                    self.text.push('\'');
                }
                Part::Key(prefix) => self.push_key(prefix),
            }
        }
    }

    fn push_quoted(&mut self, text: &str) {
        self.text.push('\'');
        self.text.push_str(&text.replace('\'', "'\\''"));
        self.text.push('\'');
    }

    fn push_octal(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(self.text, "\\{byte:03o}");
        }
    }

    fn push_key(&mut self, prefix: &str) {
        let place = self.keys.iter().position(|key| key == prefix).unwrap_or_else(|| {
            self.keys.push(prefix.to_owned());
            self.keys.len() - 1
        });
        let number = if place == 0 { String::new() } else { (place + 1).to_string() };
        // Writing to a string does not fail.
        let _ = write!(self.text, "\"$KEY{number}\"");
    }
}

/// Returns the part of a target after the authority, and whether the target has one.
fn origin_form(target: &str) -> (&str, bool) {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            (rest.find('/').map_or("/", |slash| &rest[slash..]), true)
        }
        _ => (target, false),
    }
}

/// Splits a value into plain text, masked keys, and bytes that must be escaped.
fn parts_of(value: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(prefix) = masked_key(rest) {
            rest = &rest[KeyPrefix::LEN + MASK.len()..];
            return Some(Part::Key(prefix));
        }
        let plain = plain_len(rest);
        if plain > 0 {
            let (text, after) = rest.split_at(plain);
            rest = after;
            return str::from_utf8(text).ok().map(Part::Plain);
        }
        let escaped = (1..rest.len())
            .find(|end| plain_len(&rest[*end..]) > 0 || masked_key(&rest[*end..]).is_some())
            .unwrap_or(rest.len());
        let (bytes, after) = rest.split_at(escaped);
        rest = after;
        Some(Part::Escaped(bytes))
    })
}

/// Returns the prefix of the masked key with which a text begins.
fn masked_key(text: &[u8]) -> Option<&str> {
    let prefix = str::from_utf8(text.get(..KeyPrefix::LEN)?).ok()?;
    let is_masked = text[KeyPrefix::LEN..].starts_with(MASK.as_bytes());
    (is_masked && KeyPrefix::parse(prefix).is_ok()).then_some(prefix)
}

/// Returns the number of bytes at the beginning that are printable text, or line ends and tabs, up to a masked key.
fn plain_len(text: &[u8]) -> usize {
    let valid = match str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    };
    let end = valid.char_indices().find(|(at, character)| {
        (is_active(*character) && !matches!(character, '\n' | '\t'))
            || (*character == 'p' && masked_key(&text[*at..]).is_some())
    });
    end.map_or(valid.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
