//! Pairs of a name and a value in URLs and in headers: the values of credentials are masked.

use std::borrow::Cow;

use memchr::memchr2_iter;

use super::escapes::characters;
use super::{MASK, SECRET_START, names};
use petstore_domain::KeyPrefix;

/// The longest name that is read, with its escapes.
const NAME_BYTES_MAX: usize = 200;

/// Masks the values of names that are those of credentials. A key that is already cut to its prefix stays.
pub(super) fn masked_pairs(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    for place in memchr2_iter(b'=', b'%', text) {
        let Some(equals) = equals_sign(text, place) else { continue };
        if place < copied || !is_credential(&text[copied..place]) {
            continue;
        }
        let start = place + equals.len();
        let (start, end) = value(text, start, equals.len() > 1);
        if start < end && !is_masked(&text[start..end]) {
            out.extend_from_slice(&text[copied..start]);
            out.extend_from_slice(MASK.as_bytes());
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the equals sign at a place, which may be escaped.
fn equals_sign(text: &[u8], place: usize) -> Option<&[u8]> {
    let len = if text[place] == b'=' { 1 } else { 3 };
    let sign = text.get(place..place + len)?;
    matches!(sign, b"=" | b"%3D" | b"%3d").then_some(sign)
}

/// Returns whether the text in front of an equals sign ends with the name of a credential.
fn is_credential(before: &[u8]) -> bool {
    if !names::may_end_with_credential(before) {
        return false;
    }
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.[]%~+".contains(byte);
    let most = &before[before.len().saturating_sub(NAME_BYTES_MAX)..];
    let start = most.iter().rposition(|byte| !belongs(byte)).map_or(0, |place| place + 1);
    let name = &most[start..];
    // An escaped separator ends the name before it, as in a URL that is the value of a parameter.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]~+ ".contains(&byte);
    let (mut place, mut own) = (0, 0);
    for (byte, len) in characters(name) {
        place += len;
        if !is_name(byte) {
            own = place;
        }
    }
    let own = name.get(own..).unwrap_or_default();
    !own.is_empty() && names::credential(characters(own).map(|(byte, _)| byte)).is_some()
}

/// Returns the place of the value that begins at `start`, without quotation marks. In an escaped URL an escaped separator
/// ends it, and escaped quotation marks are around it, too.
fn value(text: &[u8], start: usize, is_escaped: bool) -> (usize, usize) {
    let mut start = start;
    let is_quote = |(byte, len): &(u8, usize)| b"\"'".contains(byte) && (*len == 1 || is_escaped);
    if let Some((quote, quote_len)) = characters(&text[start..]).next().filter(is_quote) {
        start += quote_len;
        let mut end = start;
        for (byte, len) in characters(&text[start..]) {
            if (byte, len) == (quote, quote_len) {
                return (start, end);
            }
            end += len;
        }
        if text[start - 1] == b'"' {
            return (start, text.len());
        }
    }
    let mut end = start;
    for (byte, len) in characters(&text[start..]) {
        let counts = len == 1 || is_escaped;
        if counts && (b"&#\"'<>".contains(&byte) || byte.is_ascii_whitespace() || byte.is_ascii_control()) {
            break;
        }
        end += len;
    }
    (start, end.min(text.len()))
}

/// Returns whether a value is a key or a secret that has been masked.
fn is_masked(value: &[u8]) -> bool {
    let Some(start) = value.strip_suffix(MASK.as_bytes()) else { return false };
    start.is_empty()
        || start == SECRET_START
        || str::from_utf8(start).is_ok_and(|start| KeyPrefix::parse(start).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_credentials_are_masked_in_every_spelling_of_their_names() {
        for (text, expected) in [
            ("/p?access_token=a&b=c", "/p?access_token=...&b=c"),
            ("/p?access%5Ftoken=a", "/p?access%5Ftoken=..."),
            ("/p?%61ccess_token=a%26b&c", "/p?%61ccess_token=...&c"),
            ("/p?accessToken=a;b", "/p?accessToken=..."),
            ("/p?a=1;AccessToken=b", "/p?a=1;AccessToken=..."),
            ("/p;token=a", "/p;token=..."),
            ("/p?user%5Bpassword%5D=a&user[password]=b", "/p?user%5Bpassword%5D=...&user[password]=..."),
            ("/p?to=%2Fl%3Fa%3D1%26token%3Dabc%26b%3D2&c=3", "/p?to=%2Fl%3Fa%3D1%26token%3D...%26b%3D2&c=3"),
            ("<http://h/p?token=a&b=1>; rel=\"next\"", "<http://h/p?token=...&b=1>; rel=\"next\""),
            ("OAuth2 token=\"a b\", x=\"y\"", "OAuth2 token=\"...\", x=\"y\""),
            ("/p?token=pet_12345678...&b", "/p?token=pet_12345678...&b"),
            ("/p?token=a%zz%3", "/p?token=..."),
            ("/p?token=&token&b=token&pageToken=a=", "/p?token=&token&b=token&pageToken=a="),
            ("q=0.9, max-age=1, a=%3D%", "q=0.9, max-age=1, a=%3D%"),
            ("=token==", "=token=..."),
            (
                "/p?access_token[]=a&api_key%5B%5D=b&password[0]=c",
                "/p?access_token[]=...&api_key%5B%5D=...&password[0]=...",
            ),
            ("/p?q=token%3D%22a%22&b=1", "/p?q=token%3D%22...%22&b=1"),
            ("token='a b', x='y'", "token='...', x='y'"),
            ("/p?token='a&b=1", "/p?token='...&b=1"),
            ("/p?password=%22a%22b&c=1", "/p?password=...&c=1"),
        ] {
            assert_eq!(String::from_utf8_lossy(&masked_pairs(text.as_bytes())), expected, "{text}");
        }
    }
}
