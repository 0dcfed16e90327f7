//! The Redis server of the quotas, as settings.

use petstore_redis::RedisTarget;

use super::{REDIS_PASSWORD_VARIABLES, ServeArgs, password};
use crate::failure::Failure;

/// The longest prefix of a key, in bytes.
const PREFIX_MAX: usize = 64;

/// Parses the URL of a server.
pub(super) fn target(url: &str) -> Result<RedisTarget, String> {
    RedisTarget::parse(url).map_err(|error| error.to_string())
}

/// Parses the prefix of keys. Redis would accept every text; a word can be written in its access rules.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b));
    if is_word && (1..=PREFIX_MAX).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected at most {PREFIX_MAX} letters, digits and -._: without spaces, such as petstore:shop"
    ))
}

/// The form in which a URL of a Redis server may be shown: without its password. Of a URL with a fault nothing is shown,
/// because the password may be anywhere in it. None for any other text.
pub(super) fn shown(text: &str) -> Option<String> {
    let scheme = text.split_once("://")?.0.to_ascii_lowercase();
    matches!(&*scheme, "redis" | "rediss").then(|| {
        RedisTarget::parse(text).map_or_else(|_| format!("{scheme}://…"), |target| target.to_string())
    })
}

impl ServeArgs {
    /// The Redis server with its password. Without a password in the URL it is the one in the file or, without a file, the
    /// one in the variable. None if the nodes count for themselves.
    pub(crate) fn redis_target(&self) -> Result<Option<RedisTarget>, Failure> {
        let Some(mut target) = self.redis_url.clone() else { return Ok(None) };
        let found = match &self.redis_password_file {
            Some(_) if target.has_password() => {
                return Err(Failure::usage(
                    "the URL in redis-url has a password, and redis-password-file names one: remove one",
                ));
            }
            Some(file) => Some(password::in_file("redis-password-file", file)?),
            None if target.has_password() => None,
            None => password::in_variables(&REDIS_PASSWORD_VARIABLES)?,
        };
        if let Some(found) = found {
            target.set_password(&found);
        }
        Ok(Some(target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        assert_eq!(shown("rediss://u:s3cr3t@host/1").as_deref(), Some("rediss://u:***@host/1"));
        assert_eq!(shown("REDIS://u:s3@cr3t@host").as_deref(), Some("redis://…"));
        assert_eq!((shown("postgres://u@host"), shown("redis")), (None, None));
    }

    #[test]
    fn a_prefix_is_a_word() {
        assert_eq!(prefix("petstore:shop-1.b"), Ok("petstore:shop-1.b".to_owned()));
        for text in ["", "a b", "a*", "{a}", "a\n", &"a".repeat(65)] {
            assert!(prefix(text).unwrap_err().starts_with("expected"), "{text}");
        }
    }
}
