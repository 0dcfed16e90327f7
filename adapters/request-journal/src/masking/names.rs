//! The names of headers and of parameters whose values are credentials of other services.

/// The longest name that can be one of a credential. Of a longer name only the last characters count.
const NAME_MAX: usize = 64;

/// The names in lower case, without separators.
const NAMES: [&str; 9] = ["auth", "bearer", "credential", "credentials", "jwt", "pass", "pwd", "sid", "sig"];

/// The ends of names in lower case, without separators.
const ENDS: [&str; 8] =
    ["assertion", "cookie", "passphrase", "passwd", "password", "secret", "sessid", "sessionid"];

/// The end of names of credentials, unless one of [`OPEN`] is before it.
const KEY: &str = "key";

/// The ends of names before `key` with which services name what anybody may know.
const OPEN: [&str; 12] = [
    "cache",
    "foreign",
    "idempotency",
    "object",
    "partition",
    "primary",
    "public",
    "routing",
    "row",
    "sort",
    "surrogate",
    "websocket",
];

/// The end of names of credentials, unless one of [`POSITIONS`] is before it.
const TOKEN: &str = "token";

/// The ends of names before `token` with which services name a place in a list.
const POSITIONS: [&str; 7] = ["continuation", "cursor", "marker", "next", "page", "start", "sync"];

/// The end of names of credentials with a scheme.
const AUTHORIZATION: &str = "authorization";

/// The form of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    /// The whole value is secret.
    Whole,
    /// In a header, a scheme that is not secret is in front of the value.
    WithScheme,
}

/// The last two letters of all names of credentials. Most names of headers and parameters end with others.
const LAST_LETTERS: [&[u8; 2]; 16] = [
    b"al", b"en", b"er", b"et", b"ey", b"id", b"ie", b"ig", b"ls", b"on", b"rd", b"se", b"ss", b"th", b"wd",
    b"wt",
];

/// Returns the form of the value that a header has, if it is a credential. `name` is in lower case.
pub(super) fn header_credential(name: &str) -> Option<Credential> {
    let (_, last) = name.as_bytes().split_last_chunk()?;
    if last[1].is_ascii_lowercase() && !LAST_LETTERS.contains(&last) {
        return None;
    }
    credential(name.bytes())
}

/// Returns `false` if a text ends with two letters with which no name of a credential ends.
pub(super) fn may_end_with_credential(text: &[u8]) -> bool {
    match text.split_last_chunk() {
        Some((_, last)) => !last.iter().all(u8::is_ascii_lowercase) || LAST_LETTERS.contains(&last),
        None => false,
    }
}

/// Returns the form of the value that a name has, if it is a credential. The name may be spelled in any case and with any
/// separators, as `access_token`, `accessToken`, `X-Access-Token` and `user[access_token]` are.
pub(super) fn credential(name: impl Iterator<Item = u8>) -> Option<Credential> {
    let (mut plain, mut len, mut is_index) = ([0; NAME_MAX], 0, false);
    for byte in name {
        // The name of a member follows that of its object. Empty brackets or a number in them are no name: `token[]` and
        // `token[0]` are values of `token`.
        if is_index && byte.is_ascii_alphabetic() {
            (len, is_index) = (0, false);
        }
        match byte {
            b'[' => is_index = true,
            b']' => is_index = false,
            b'.' => len = 0,
            // The prefix of headers that are not registered.
            b'x' | b'X' if len == 0 => {}
            _ if byte.is_ascii_alphanumeric() && !is_index => {
                if len == NAME_MAX {
                    plain.copy_within(1.., 0);
                    len -= 1;
                }
                plain[len] = byte.to_ascii_lowercase();
                len += 1;
            }
            _ => {}
        }
    }
    let plain = &plain[..len];
    if plain.ends_with(AUTHORIZATION.as_bytes()) {
        return Some(Credential::WithScheme);
    }
    let ends = |end: &str, harmless: &[&str]| {
        plain
            .strip_suffix(end.as_bytes())
            .is_some_and(|start| !harmless.iter().any(|word| start.ends_with(word.as_bytes())))
    };
    let is_secret = ends(TOKEN, &POSITIONS)
        || ends(KEY, &OPEN)
        || NAMES.iter().any(|name| plain == name.as_bytes())
        || ENDS.iter().any(|end| plain.ends_with(end.as_bytes()));
    is_secret.then_some(Credential::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_known_in_every_spelling() {
        for name in [
            "access_token",
            "access-token",
            "accessToken",
            "ACCESSTOKEN",
            "x-access-token",
            "X_Api_Key",
            "apikey",
            "Cookie",
            "set-cookie",
            "user[password]",
            "users[0][password]",
            "access_token[]",
            "password[0]",
            "auth.clientSecret",
            "X-Gitlab-Token",
            "token",
            "jwt",
            "x-auth",
            "phpsessid",
            "key",
            "api.key",
            "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "client_assertion",
            "sig",
        ] {
            assert_eq!(credential(name.bytes()), Some(Credential::Whole), "{name}");
        }
        for name in ["authorization", "Proxy-Authorization", "x-authorization", "X-Forwarded-Authorization"] {
            assert_eq!(credential(name.bytes()), Some(Credential::WithScheme), "{name}");
        }
        for name in [
            "",
            "x",
            "idempotency-key",
            "sec-websocket-key",
            "publicKey",
            "sort_key",
            "keys",
            "limit",
            "pageToken",
            "next_page_token",
            "author",
            "sidecar",
            "password_hint",
            "webhook-signature",
            "tokens",
            "token[id]",
            "x-request-id",
            "if-none-match",
        ] {
            assert_eq!(credential(name.bytes()), None, "{name}");
        }
        for name in NAMES.into_iter().chain(ENDS).chain([TOKEN, KEY, AUTHORIZATION]) {
            assert!(header_credential(name).is_some(), "{name}");
            assert!(may_end_with_credential(name.as_bytes()), "{name}");
        }
        let long = format!("{}_accessToken", "a".repeat(500));
        assert_eq!(credential(long.bytes()), Some(Credential::Whole));
    }
}
