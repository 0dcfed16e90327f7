//! Marks by which a text is recognised in which a secret may stand.

/// Texts in lower case, each of which makes a secret possible in a value of any setting or in a stray argument.
const SUSPICIOUS: [&str; 14] = [
    "@",
    "password",
    "passwd",
    "pass=",
    "pwd",
    "secret",
    "token",
    "postgres:",
    "postgresql:",
    "redis:",
    "rediss:",
    "jdbc:",
    "mysql:",
    "mongodb:",
];

/// Returns whether a text has a mark of a secret, such as the `@` behind the password of a URL.
pub(super) fn may_hold_secret(text: &str) -> bool {
    let text = text.to_lowercase();
    SUSPICIOUS.iter().any(|mark| text.contains(mark))
}
