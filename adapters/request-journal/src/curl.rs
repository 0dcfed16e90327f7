//! A record as a command line of curl that sends the request again.
//!
//! The line works in every POSIX shell. Whatever the request contained, the line has printable characters only: other
//! bytes are written as octal escapes of `printf`.

use std::fmt::Write as _;

use petstore_domain::KeyPrefix;

use crate::masking::{MASK, is_credential_name};
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

/// The places of a value in which masked keys may be. Elsewhere a text such as `pet_whiskers...` is one that the client sent.
#[derive(Clone, Copy)]
enum Keys {
    Nowhere,
    Anywhere,
    /// In values of parameters that are credentials.
    InParameters,
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
        let body_keys = match body {
            Some(body) if body.is_masked() => Keys::Anywhere,
            _ => Keys::Nowhere,
        };
        // A body that a word cannot hold comes from `printf`. An argument must not be longer than 128 KiB.
        let is_piped =
            sent.is_some_and(|body| parts_of(body, body_keys).any(|part| matches!(part, Part::Escaped(_))));
        if is_piped && let Some(body) = sent {
            self.text.push_str("printf ");
            self.push_format(body, body_keys);
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
            self.push_option("--request", request.method.as_bytes(), Keys::Nowhere);
        }
        let scheme = if request.is_secure { "https://" } else { "http://" };
        let (origin_form, is_absolute) = origin_form(&request.target);
        let mut url = [scheme, authority].concat();
        if origin_form.starts_with('/') {
            url.push_str(origin_form);
        }
        self.text.push(' ');
        self.push_word(url.as_bytes(), Keys::InParameters);
        if is_absolute || !origin_form.starts_with('/') {
            self.push_option("--request-target", request.target.as_bytes(), Keys::InParameters);
        }
        self.push_headers(record, authority, sent.is_some());
        match sent {
            Some(_) if is_piped => self.text.push_str(" --data-binary @-"),
            Some(body) => self.push_option("--data-raw", body, body_keys),
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
            let keys = if is_credential_name(&lower) { Keys::Anywhere } else { Keys::Nowhere };
            self.push_option("--header", &[name, end, value].concat(), keys);
        }
        for name in ADDED_BY_CURL {
            let is_added = name != "Content-Type" || has_body;
            if is_added && request.headers.all(name).next().is_none() {
                self.push_option("--header", format!("{name}:").as_bytes(), Keys::Nowhere);
            }
        }
    }

    fn push_option(&mut self, option: &str, value: &[u8], keys: Keys) {
        self.text.push(' ');
        self.text.push_str(option);
        self.text.push(' ');
        self.push_word(value, keys);
    }

    /// Adds a word of the shell that has this value.
    fn push_word(&mut self, value: &[u8], keys: Keys) {
        if value.is_empty() {
            self.text.push_str("''");
        }
        for part in parts_of(value, keys) {
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
    fn push_format(&mut self, value: &[u8], keys: Keys) {
        let value = match value {
            [b'-', rest @ ..] => {
                self.text.push('\'');
                self.push_octal(b"-");
                self.text.push('\'');
                rest
            }
            _ => value,
        };
        for part in parts_of(value, keys) {
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
fn parts_of(value: &[u8], keys: Keys) -> impl Iterator<Item = Part<'_>> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let (at, rest) = (place, &value[place..]);
        if rest.is_empty() {
            return None;
        }
        if let Some(prefix) = masked_key(value, at, keys) {
            place += KeyPrefix::LEN + MASK.len();
            return Some(Part::Key(prefix));
        }
        let plain = plain_len(value, at, keys);
        if plain > 0 {
            place += plain;
            return str::from_utf8(&rest[..plain]).ok().map(Part::Plain);
        }
        let escaped = (1..rest.len())
            .find(|len| plain_len(value, at + len, keys) > 0 || masked_key(value, at + len, keys).is_some())
            .unwrap_or(rest.len());
        place += escaped;
        Some(Part::Escaped(&rest[..escaped]))
    })
}

/// Returns the prefix of the masked key that begins at a place of a value.
fn masked_key(value: &[u8], at: usize, keys: Keys) -> Option<&str> {
    let text = &value[at..];
    let prefix = str::from_utf8(text.get(..KeyPrefix::LEN)?).ok()?;
    let is_masked = text[KeyPrefix::LEN..].starts_with(MASK.as_bytes()) && KeyPrefix::parse(prefix).is_ok();
    let may_be_key = match keys {
        Keys::Nowhere => false,
        Keys::Anywhere => true,
        Keys::InParameters => is_credential(&value[..at]),
    };
    (is_masked && may_be_key).then_some(prefix)
}

/// Returns whether a URL up to a value ends with the name of a credential and an equals sign.
fn is_credential(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b"=") else { return false };
    let start = before.iter().rposition(|byte| b"/?&;".contains(byte)).map_or(0, |place| place + 1);
    str::from_utf8(&before[start..]).is_ok_and(is_credential_name)
}

/// Returns the number of bytes from a place of a value on that are printable text, or line ends and tabs, up to a masked key.
fn plain_len(value: &[u8], at: usize, keys: Keys) -> usize {
    let text = &value[at..];
    let valid = match str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    };
    let end = valid.char_indices().find(|(place, character)| {
        (is_active(*character) && !matches!(character, '\n' | '\t'))
            || (*character == 'p' && masked_key(value, at + place, keys).is_some())
    });
    end.map_or(valid.len(), |(place, _)| place)
}

#[cfg(test)]
mod tests;
