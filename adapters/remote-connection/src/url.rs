//! URLs of servers, and their forms without the password.

use std::net::IpAddr;

/// The reason why a URL is not accepted. It never contains a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TargetError(String);

impl TargetError {
    /// An error with this reason, in which no part of a password stands.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Returns the rest of a URL behind a scheme such as `redis://`, which may be in upper case. None for another scheme.
pub fn after_scheme<'u>(url: &'u str, scheme: &str) -> Option<&'u str> {
    let start = url.get(..scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then(|| &url[scheme.len()..])
}

/// Refuses a URL whose user or password is not encoded. `rest`: the URL behind its scheme; `authority`: the part of it before
/// the first `/` or `?`. If a password contains a `@`, `/` or `?` that is not encoded, the text behind that character is taken
/// for a host, a database or a parameter, which errors may show.
pub fn check_encoded(rest: &str, authority: &str) -> Result<(), TargetError> {
    let (in_authority, in_all) = (authority.matches('@').count(), rest.matches('@').count());
    if in_all > 1 || in_all > in_authority {
        return Err(TargetError::new(
            "the user and the password must be percent-encoded: @ is %40, / is %2F, ? is %3F, : is %3A",
        ));
    }
    Ok(())
}

/// Decodes a part of a URL. `name`: the name of the part in an error.
pub fn decoded(name: &str, text: &str) -> Result<String, TargetError> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    let decoded = decoded.map(std::borrow::Cow::into_owned);
    decoded.map_err(|_| TargetError::new(format!("{name} in the URL is not UTF-8")))
}

/// Returns the part of a URL before its host, with `***` in place of a password; empty without a user and a password.
pub fn user_without_password(user: &str, has_password: bool) -> String {
    // A colon in a user was encoded, perhaps together with the password behind it.
    let (name, rest) = user.split_once(':').unwrap_or((user, ""));
    match (name, has_password || !rest.is_empty()) {
        ("", false) => String::new(),
        (name, false) => format!("{name}@"),
        (name, true) => format!("{name}:***@"),
    }
}

/// Returns a host as it stands in a URL: an IPv6 address in brackets, and the port unless it is the default one.
pub fn host_and_port(host: &str, port: u16, default_port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if port == default_port { host } else { format!("{host}:{port}") }
}

/// Returns whether a host is this machine: `localhost` or a loopback address.
pub fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_is_not_encoded_is_refused_without_its_text() {
        for (rest, authority) in
            [("u:s3c@r3t@host/0", "u:s3c@r3t@host"), ("u:s3c/r3t@host", "u:s3c"), ("u:s3c?r3t@host", "u:s3c")]
        {
            let why = check_encoded(rest, authority).unwrap_err().to_string();
            assert!(why.contains("percent-encoded") && !why.contains("s3c"), "{rest}: {why}");
        }
        assert_eq!(check_encoded("u:p@host/0?a=b", "u:p@host"), Ok(()));
        assert_eq!(decoded("the user", "a%40b").as_deref(), Ok("a@b"));
        assert_eq!(
            decoded("the user", "s3c%ff").unwrap_err().to_string(),
            "the user in the URL is not UTF-8"
        );
    }

    #[test]
    fn parts_are_shown_in_their_shortest_form_without_the_password() {
        for (user, has_password, shown) in [
            ("", false, ""),
            ("", true, ":***@"),
            ("pets", false, "pets@"),
            ("pets", true, "pets:***@"),
            ("pets:s3cr3t", false, "pets:***@"),
        ] {
            assert_eq!(user_without_password(user, has_password), shown, "{user}");
        }
        assert_eq!(host_and_port("db", 5432, 5432), "db");
        assert_eq!(host_and_port("::1", 5433, 5432), "[::1]:5433");
        assert_eq!(after_scheme("REDIS://host", "redis://"), Some("host"));
        assert_eq!(after_scheme("rédis", "redis://"), None);
    }

    #[test]
    fn this_machine_has_loopback_addresses() {
        for (host, expected) in [
            ("LocalHost", true),
            ("127.0.0.9", true),
            ("::1", true),
            ("192.0.2.1", false),
            ("db.example", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }
}
