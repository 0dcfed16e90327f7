//! Masking of credentials, before anything is recorded.

use std::borrow::Cow;

use petstore_domain::KeyPrefix;

/// The mark in place of the masked part.
pub(crate) const MASK: &str = "…";

/// The beginning of every API key.
const KEY_START: &[u8] = b"pet_";

/// The beginning of every secret of a webhook.
const SECRET_START: &[u8] = b"whsec_";

/// The name of the member that holds the secret of a webhook, with its quotation marks.
const SECRET_MEMBER: &[u8] = b"\"secret\"";

/// The number of base62 digits after `pet_` from which a text is masked. A whole key has 49. A key with a typing error or
/// a part of a key is masked, too, and a name such as `pet_food` is not.
const KEY_DIGITS_MIN: usize = 20;

/// Returns a text in which API keys are cut to their prefix, and secrets of webhooks to `whsec_`. The value of a member
/// `secret` is masked whatever its form is.
pub fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some((kept_end, secret_end)) = next_secret(text, at) {
        out.extend_from_slice(&text[copied..kept_end]);
        out.extend_from_slice(MASK.as_bytes());
        (copied, at) = (secret_end, secret_end);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the value of a header without its secrets. `name` is in lower case. Of credentials that are not an API key
/// only the scheme is kept, because they may belong to another service.
pub fn masked_header<'v>(name: &str, value: &'v [u8]) -> Cow<'v, [u8]> {
    match name {
        "authorization" | "proxy-authorization" => match value.iter().position(|byte| *byte == b' ') {
            Some(end) => masked_credential(value, end + 1),
            None => masked_credential(value, 0),
        },
        "x-api-key" | "cookie" => masked_credential(value, 0),
        _ => masked(value),
    }
}

/// Masks a value that is a credential from `start` on.
fn masked_credential(value: &[u8], start: usize) -> Cow<'_, [u8]> {
    let credential = &value[start..];
    if credential.is_empty() {
        return Cow::Borrowed(value);
    }
    let is_key = credential.strip_prefix(KEY_START).is_some_and(|rest| digits(rest) == rest.len());
    let kept = if is_key { start + KeyPrefix::LEN.min(credential.len()) } else { start };
    Cow::Owned([&value[..kept], MASK.as_bytes()].concat())
}

/// Returns the end of the kept part, and the end of the secret, of the first secret at or after `from`.
fn next_secret(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    while at < text.len() {
        let rest = &text[at..];
        match rest[0] {
            b'p' if rest.starts_with(KEY_START) => {
                let digits = digits(&rest[KEY_START.len()..]);
                if digits >= KEY_DIGITS_MIN {
                    // A second key may follow without a separator, so the rest of the word is masked, too.
                    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                    return Some((at + KeyPrefix::LEN, at + rest.iter().take_while(is_word).count()));
                }
            }
            b'w' if rest.starts_with(SECRET_START) => {
                let start = at + SECRET_START.len();
                let len = text[start..].iter().take_while(|byte| is_base64(**byte)).count();
                if len > 0 {
                    return Some((start, start + len));
                }
            }
            b'"' if rest.starts_with(SECRET_MEMBER) => {
                if let Some((start, end)) = string_after_colon(text, at + SECRET_MEMBER.len()) {
                    let kept =
                        if text[start..end].starts_with(SECRET_START) { SECRET_START.len() } else { 0 };
                    if end > start + kept {
                        return Some((start + kept, end));
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the place of a JSON string after a colon, without its quotation marks. A string without an end reaches to the
/// end of the text.
fn string_after_colon(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let skip = |from: usize| from + text[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let colon = skip(from);
    if text.get(colon) != Some(&b':') {
        return None;
    }
    let quote = skip(colon + 1);
    if text.get(quote) != Some(&b'"') {
        return None;
    }
    let start = quote + 1;
    let mut end = start;
    while let Some(byte) = text.get(end) {
        match byte {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    Some((start, end.min(text.len())))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use petstore_domain::ApiKey;

    use super::*;

    fn shown(text: &str) -> String {
        String::from_utf8(masked(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn keys_and_secrets_are_cut_to_their_prefix_wherever_they_are() {
        let key = ApiKey::from_entropy([7; 32]);
        let (key, prefix) = (key.reveal(), key.display_prefix());
        for (text, expected) in [
            (format!("?a={key}&b=1"), format!("?a={prefix}…&b=1")),
            (format!("{key}{key}"), format!("{prefix}…")),
            (format!("{key},{key}"), format!("{prefix}…,{prefix}…")),
            (format!("x{}", &key[..40]), format!("x{prefix}…")),
            ("pet_food pet_ pet".to_owned(), "pet_food pet_ pet".to_owned()),
            (
                "{\"secret\":\"whsec_MfKQ9r8G+/=\",\"id\":1}".to_owned(),
                "{\"secret\":\"whsec_…\",\"id\":1}".to_owned(),
            ),
            ("{\"secret\" :\n \"a\\\"b\\\\\"}".to_owned(), "{\"secret\" :\n \"…\"}".to_owned()),
            ("{\"secret\":\"cut o".to_owned(), "{\"secret\":\"…".to_owned()),
            ("{\"secret\":\"cut o\\".to_owned(), "{\"secret\":\"…".to_owned()),
            (
                "{\"secret\":\"\",\"secret\":null,\"secret\"".to_owned(),
                "{\"secret\":\"\",\"secret\":null,\"secret\"".to_owned(),
            ),
            ("a whsec_ and whsec_x!".to_owned(), "a whsec_ and whsec_…!".to_owned()),
        ] {
            assert_eq!(shown(&text), expected, "{text}");
        }
    }

    #[test]
    fn headers_with_credentials_keep_the_scheme_and_the_prefix_of_a_key() {
        let key = ApiKey::from_entropy([9; 32]);
        let (key, prefix) = (key.reveal(), key.display_prefix());
        for (name, value, expected) in [
            ("authorization", format!("Bearer {key}"), format!("Bearer {prefix}…")),
            ("authorization", "Basic dXNlcjpwYXNz".to_owned(), "Basic …".to_owned()),
            ("authorization", "opaque".to_owned(), "…".to_owned()),
            ("authorization", "Bearer ".to_owned(), "Bearer ".to_owned()),
            ("authorization", "Bearer pet_short".to_owned(), "Bearer pet_short…".to_owned()),
            ("x-api-key", key.to_owned(), format!("{prefix}…")),
            ("x-api-key", "another service's".to_owned(), "…".to_owned()),
            ("x-api-key", String::new(), String::new()),
            ("x-api-key", format!("{key}, {key}"), "…".to_owned()),
            ("cookie", "session=abc".to_owned(), "…".to_owned()),
            ("referer", format!("http://x/?k={key}"), format!("http://x/?k={prefix}…")),
            ("accept", "*/*".to_owned(), "*/*".to_owned()),
        ] {
            assert_eq!(masked_header(name, value.as_bytes()), expected.as_bytes(), "{name}: {value}");
        }
    }
}
