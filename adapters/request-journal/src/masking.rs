//! Masking of credentials, before anything is recorded.

mod beginnings;
mod escapes;
mod names;
mod pairs;
mod user_info;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2, memchr3, memrchr};
use petstore_domain::KeyPrefix;

use beginnings::Beginnings;
use escapes::{characters, run, spelled};
use names::Credential;
use user_info::user_info;

/// The mark in place of the masked part. It is ASCII, so that an HTTP client can send every masked value again.
pub(crate) const MASK: &str = "...";

/// The beginning of every API key.
const KEY_START: &[u8] = b"pet_";

/// The beginning of every secret of a webhook.
const SECRET_START: &[u8] = b"whsec_";

/// The name of the member that holds the secret of a webhook.
const SECRET_MEMBER: &[u8] = b"secret";

/// The beginning of that member, unless a character of it is escaped.
static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"secret"));

/// The number of base62 digits after `pet_` from which a text is masked. A whole key has 49. A key with a typing error or
/// a part of a key is masked, too, and a name such as `pet_food` is not.
pub const KEY_DIGITS_MIN: usize = 20;

/// The number of base62 digits of a key that its prefix shows.
const PREFIX_DIGITS: usize = KeyPrefix::LEN - KEY_START.len();

/// Returns a text in which API keys are cut to their prefix, and secrets of webhooks to `whsec_`. The value of a member
/// `secret` is masked whatever its form is, and so is the user information of a URL. Escapes of URLs and of JSON hide no
/// secret.
pub fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    mask(text, false, true)
}

/// Returns the first part of a text that was cut off, with its secrets masked. A key at the end may be cut off, too.
pub(crate) fn masked_part(text: &[u8]) -> Cow<'_, [u8]> {
    mask(text, true, true)
}

/// Returns bytes that are compressed without keys and secrets. They have no URLs: three bytes that look like the beginning of
/// one are there by chance, and a change after them would make the rest unreadable.
pub(crate) fn masked_compressed(bytes: &[u8], is_cut: bool) -> Cow<'_, [u8]> {
    mask(bytes, is_cut, false)
}

fn mask(text: &[u8], is_cut: bool, has_urls: bool) -> Cow<'_, [u8]> {
    if !may_have_secrets(text) {
        Cow::Borrowed(text)
    } else if memchr2(b'%', b'\\', text).is_some() {
        mask_at(0..text.len(), text, is_cut, has_urls)
    } else {
        mask_at(Beginnings::of(text, has_urls), text, is_cut, has_urls)
    }
}

/// Masks the secrets that begin at these places of a text.
fn mask_at(places: impl Iterator<Item = usize>, text: &[u8], is_cut: bool, has_urls: bool) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    for place in places {
        if place < copied {
            continue;
        }
        if let Some(secret) = secret_at(text, place, is_cut, has_urls) {
            out.extend_from_slice(&text[copied..secret.start]);
            out.extend_from_slice(&secret.shown);
            out.extend_from_slice(MASK.as_bytes());
            copied = secret.end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the value of a header without its secrets. `name` is in lower case. Of credentials that are not an API key
/// only the scheme is kept, because they may belong to another service. In other headers the parameters of URLs are
/// masked as in a target.
pub fn masked_header<'v>(name: &str, value: &'v [u8]) -> Cow<'v, [u8]> {
    match names::header_credential(name) {
        Some(Credential::WithScheme) => match value.iter().position(|byte| *byte == b' ') {
            Some(end) => masked_credential(value, end + 1),
            None => masked_credential(value, 0),
        },
        Some(Credential::Whole) => masked_credential(value, 0),
        None if matches!(name, "host" | "x-forwarded-host") => masked_authority(value),
        None => masked_fields(value),
    }
}

/// Returns a request target without its secrets. Values of query parameters that are credentials of another service are
/// masked, too, and the user information of a target with an authority.
pub fn masked_target(target: &str) -> Cow<'_, str> {
    let shown = if target.starts_with('/') || target.contains("://") {
        masked_fields(target.as_bytes())
    } else {
        masked_authority(target.as_bytes())
    };
    match shown {
        Cow::Borrowed(_) => target.into(),
        Cow::Owned(shown) => String::from_utf8_lossy(&shown).into_owned().into(),
    }
}

/// Returns a text with URLs or with pairs such as `name=value`, without the secrets that [`masked`] finds, and without the
/// values of names that are those of credentials. A name may be escaped and spelled in any case.
pub fn masked_fields(text: &[u8]) -> Cow<'_, [u8]> {
    match masked(text) {
        Cow::Borrowed(text) => pairs::masked_pairs(text),
        Cow::Owned(shown) => Cow::Owned(match pairs::masked_pairs(&shown) {
            Cow::Owned(both) => both,
            Cow::Borrowed(_) => shown,
        }),
    }
}

/// Returns whether the value of a parameter with this name is a credential, such as `access_token`, `apiKey` or
/// `user%5Bpassword%5D`.
pub fn is_credential_name(name: &str) -> bool {
    names::credential(characters(name.as_bytes()).map(|(byte, _)| byte)).is_some()
}

/// Masks the user information of an authority, and the secrets in the rest of it.
fn masked_authority(authority: &[u8]) -> Cow<'_, [u8]> {
    match memrchr(b'@', authority) {
        Some(at) if at > 0 => Cow::Owned([MASK.as_bytes(), &masked(&authority[at..])].concat()),
        _ => masked(authority),
    }
}

/// Masks a value that is a credential from `start` on.
fn masked_credential(value: &[u8], start: usize) -> Cow<'_, [u8]> {
    let credential = &value[start..];
    if credential.is_empty() {
        return Cow::Borrowed(value);
    }
    // No early end, so that the compiler can vectorize the loop.
    let are_digits = |text: &[u8]| text.iter().fold(true, |all, byte| all & byte.is_ascii_alphanumeric());
    let is_key = credential.strip_prefix(KEY_START).is_some_and(are_digits);
    let kept = if is_key { start + KeyPrefix::LEN.min(credential.len()) } else { start };
    Cow::Owned([&value[..kept], MASK.as_bytes()].concat())
}

/// A secret in a text.
struct Secret {
    start: usize,
    end: usize,
    /// The text in front of the mask.
    shown: Vec<u8>,
}

/// Returns `false` for most texts without secrets: a beginning of a secret has a `_`, a member begins with `"secret`, and
/// user information ends with `@`, unless a character is escaped.
fn may_have_secrets(text: &[u8]) -> bool {
    memchr3(b'_', b'%', b'\\', text).is_some()
        || (memchr2(b'"', b'@', text).is_some()
            && (memchr(b'@', text).is_some() || MEMBER.find(text).is_some()))
}

/// Returns the secret that begins at `start`, or behind the `://` there.
fn secret_at(text: &[u8], start: usize, is_cut: bool, has_urls: bool) -> Option<Secret> {
    let user_info = || if has_urls { user_info(text, start) } else { None };
    match text[start] {
        b'"' => member_secret(text, start),
        b':' => user_info(),
        b'p' | b'w' => key(text, start, is_cut).or_else(|| webhook_secret(text, start)),
        b'%' | b'\\' => key(text, start, is_cut).or_else(|| webhook_secret(text, start)).or_else(user_info),
        _ => None,
    }
}

/// Returns the key that begins at `start`.
fn key(text: &[u8], start: usize, is_cut: bool) -> Option<Secret> {
    let digits_start = start + spelled(&text[start..], KEY_START)?;
    let digits = run(&text[digits_start..], |byte| byte.is_ascii_alphanumeric());
    let is_at_cut = is_cut && digits_start + digits.bytes == text.len();
    let digits_min = if is_at_cut { PREFIX_DIGITS + 1 } else { KEY_DIGITS_MIN };
    if digits.characters < digits_min {
        return None;
    }
    // A second key may follow without a separator, so the rest of the word is masked, too.
    let word = run(&text[start..], |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let shown = characters(&text[start..]).map(|(byte, _)| byte).take(KeyPrefix::LEN).collect();
    Some(Secret { start, end: start + word.bytes, shown })
}

/// Returns the secret of a webhook that begins at `start`.
fn webhook_secret(text: &[u8], start: usize) -> Option<Secret> {
    let secret_start = start + spelled(&text[start..], SECRET_START)?;
    let secret = run(&text[secret_start..], is_base64);
    let end = secret_start + secret.bytes;
    (secret.characters > 0).then(|| Secret { start, end, shown: SECRET_START.to_vec() })
}

/// Returns the value of a member `secret` whose name begins at `start`, with its quotation mark. Of a list or an object the
/// outer brackets are shown.
fn member_secret(text: &[u8], start: usize) -> Option<Secret> {
    let name_end = start + 1 + spelled(&text[start + 1..], SECRET_MEMBER)?;
    if text.get(name_end) != Some(&b'"') {
        return None;
    }
    let (start, end) = value_after_colon(text, name_end + 1)?;
    let shown = match spelled(&text[start..end], SECRET_START) {
        Some(_) => SECRET_START.to_vec(),
        None => Vec::new(),
    };
    (end > start + shown.len()).then_some(Secret { start, end, shown })
}

/// Returns the place of a JSON value after a colon, without its quotation marks or outer brackets; `None` for `null`. A value
/// without an end reaches to the end of the text.
fn value_after_colon(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let skip = |from: usize| from + text[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let colon = skip(from);
    if text.get(colon) != Some(&b':') {
        return None;
    }
    let start = skip(colon + 1);
    match text.get(start)? {
        b'"' => Some((start + 1, string_end(text, start + 1))),
        b'[' | b'{' => Some((start + 1, bracket_end(text, start + 1))),
        _ => {
            let is_in = |byte: &&u8| !byte.is_ascii_whitespace() && !b",]}".contains(byte);
            let end = start + text[start..].iter().take_while(is_in).count();
            (&text[start..end] != b"null").then_some((start, end))
        }
    }
}

/// Returns the place of the quotation mark that ends a string.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut end = start;
    while let Some(byte) = text.get(end) {
        match byte {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    end.min(text.len())
}

/// Returns the place of the bracket that ends a list or an object.
fn bracket_end(text: &[u8], start: usize) -> usize {
    let (mut end, mut depth) = (start, 0_usize);
    while let Some(byte) = text.get(end) {
        match byte {
            b'"' => end = string_end(text, end + 1),
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => break,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        end += 1;
    }
    end.min(text.len())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

#[cfg(test)]
mod tests;
