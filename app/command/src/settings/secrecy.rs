//! The forms in which wrong values may be shown. A password may stand anywhere in a value that is not understood.

use std::borrow::Cow;

use clap::Arg;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::secret_marks::may_hold_secret;
use super::{db, redis};

/// Stands for a value that is not shown.
const HIDDEN: &str = "…";

/// The schemes of URLs that have no password unless it is before an `@`.
const WEB_SCHEMES: [&str; 2] = ["http://", "https://"];

/// Returns whether a setting takes a URL, in which a password may stand, or a file, in whose place a URL is refused.
pub(super) fn takes_url(setting: &Arg) -> bool {
    setting.get_value_names().unwrap_or_default().iter().any(|name| name.contains("URL") || name == "FILE")
}

/// The form in which a wrong value may be shown. The URL of a store is shown without its password. Of any other value with a
/// place for a secret nothing is shown. `is_url`: the setting takes a URL, so the value may be an unusual form of one.
pub(crate) fn shown(value: &str, is_url: bool) -> Cow<'_, str> {
    if let Some(shown) = db::shown(value).or_else(|| redis::shown(value)) {
        return shown.into();
    }
    let is_harmless = if is_url { is_plain(value) || db::is_spelling_of_memory(value) } else { true };
    if is_harmless && !may_hold_secret(value) { value.into() } else { HIDDEN.into() }
}

/// Returns whether a text is a path, a host, or the address of a page: none of its characters separates a password.
fn is_plain(text: &str) -> bool {
    let web = WEB_SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/".contains(&b));
    let is_port = |text: &str| text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit());
    let (host, path) = match web {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => (text, ""),
    };
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    is_word(host) && is_port(port) && is_word(path)
}

/// Hides wrong values in a message of clap in which a secret may stand.
pub(super) fn masked(mut fault: clap::Error) -> clap::Error {
    let of_url = match fault.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(setting)) => setting.contains("URL") || setting.ends_with("<FILE>"),
        _ => false,
    };
    for (kind, is_url) in [(ContextKind::InvalidValue, of_url), (ContextKind::InvalidSubcommand, true)] {
        mask(&mut fault, kind, |value| shown(value, is_url).into_owned());
    }
    // The name of a declared flag, such as `--listen <ADDRESS:PORT>`, is no text of the caller.
    if fault.kind() != ErrorKind::UnknownArgument {
        return fault;
    }
    // The name of an unknown flag, or a stray word.
    mask(&mut fault, ContextKind::InvalidArg, |word| {
        let is_flag = word.starts_with(['-', '<', '[']) && !word.contains(['@', ':']);
        if is_flag { word.to_owned() } else { shown(word, true).into_owned() }
    });
    fault
}

fn mask(fault: &mut clap::Error, kind: ContextKind, form: impl FnOnce(&str) -> String) {
    if let Some(ContextValue::String(value)) = fault.get(kind) {
        let value = form(value);
        fault.insert(kind, ContextValue::String(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_value_with_a_place_for_a_secret_nothing_is_shown() {
        for value in [
            "jdbc:postgresql://db.example/shop?user=shop&password=s3cr3t",
            "mysql://pet:s3cr3t@db/pets",
            "redis:s3cr3t@h",
            "redis//:s3cr3t@h",
            "user:s3cr3t@h:6379",
            "postgres//pet:s3cr3t@h/s",
            "host=h user=pet password=s3cr3t",
            "https://pet:s3cr3t@h",
            "Server=h;Pwd=s3cr3t",
        ] {
            for is_url in [true, false] {
                assert_eq!(shown(value, is_url), HIDDEN, "{value}");
            }
        }
        for value in
            ["unix:///tmp/x?key=s3cr3t", "redis.example:s3cr3t", "https://h/?k=s3cr3t", "https://h:s3cr3t"]
        {
            assert_eq!(shown(value, true), HIDDEN, "{value}");
        }
        assert_eq!(shown("postgres://pet:s3@cr3t@h/s", true), "postgres://…");
    }

    #[test]
    fn the_name_of_a_declared_flag_is_shown_and_a_stray_word_with_a_secret_is_not() {
        let listen = || Arg::new("listen").long("listen").value_name("ADDRESS:PORT").value_parser(["there"]);
        let message = |words: &[&str]| {
            let command = clap::Command::new("petstore").arg(listen());
            masked(command.try_get_matches_from(words).unwrap_err()).to_string()
        };
        let refused = message(&["petstore", "--listen", "here"]);
        assert!(refused.contains("'here'") && refused.contains("--listen <ADDRESS:PORT>"), "{refused}");
        let stray = message(&["petstore", "redis:s3cr3t@h"]);
        assert!(!stray.contains("s3cr3t"), "{stray}");
    }

    #[test]
    fn other_values_are_shown() {
        for value in
            [":memory:", "pets.example", "https://a/b", "http://localhost:3000/", "soon", "h:6379", ""]
        {
            assert_eq!(shown(value, true), value);
        }
        for value in ["61m", "http://localhost:80", "a b", "*:8080"] {
            assert_eq!(shown(value, false), value);
        }
    }
}
