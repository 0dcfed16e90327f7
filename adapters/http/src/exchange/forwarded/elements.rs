//! The elements of `Forwarded` (RFC 7239, section 4).

use std::net::IpAddr;

use super::parse_address;

/// The values of one element: a proxy's report of the request that it received.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// The peer of the proxy: an address, or an identifier that hides the address.
    peer: Option<String>,
    pub(super) proto: Option<String>,
    pub(super) host: Option<String>,
}

impl Element {
    /// Parses `name=value` pairs between semicolons. Returns `None` for malformed text, and if a known name is
    /// repeated.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut element = Self::default();
        for pair in pieces(text, ';').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=')?;
            let value = unquoted(value.trim())?;
            let place = match name.trim() {
                name if name.eq_ignore_ascii_case("for") => &mut element.peer,
                name if name.eq_ignore_ascii_case("proto") => &mut element.proto,
                name if name.eq_ignore_ascii_case("host") => &mut element.host,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(element)
    }

    /// Returns the peer's address, if the element has one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        parse_address(self.peer.as_deref()?)
    }
}

/// Splits a text at the separators that are not in a quoted string. Returns the parts, beginning with the last part.
/// Because of this order, an unclosed quote does not hide the parts after it.
pub(super) fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let pieces = text.rsplit(move |character| {
        is_quoted ^= character == '"';
        character == separator && !is_quoted
    });
    pieces.map(str::trim)
}

/// Returns the content of a quoted string, or a text without quotes.
fn unquoted(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('"') else {
        return (!text.is_empty() && !text.contains('"')).then(|| text.to_owned());
    };
    let inner = inner.strip_suffix('"')?;
    let (mut content, mut is_escaped) = (String::with_capacity(inner.len()), false);
    for character in inner.chars() {
        match character {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return None,
            character => {
                content.push(character);
                is_escaped = false;
            }
        }
    }
    (!is_escaped).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_its_pairs() {
        let element = |peer: &str, proto: &str, host: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Some(Element { peer: some(peer), proto: some(proto), host: some(host) })
        };
        for (text, expected) in [
            ("for=192.0.2.1", element("192.0.2.1", "", "")),
            ("FOR = \"a\\\"b\" ;; proto=http;", element("a\"b", "http", "")),
            ("host=\"h:1\";ext=\"a;b\";by=me", element("", "", "h:1")),
            ("for=192.0.2.1:80", element("192.0.2.1:80", "", "")),
            ("for", None),
            ("for=", None),
            ("for=a\"b", None),
            ("for=\"a", None),
            ("for=\"a\\\"", None),
            ("for=a;For=a", None),
        ] {
            assert_eq!(Element::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn separators_in_quotes_are_ignored() {
        let all = |text| pieces(text, ',').collect::<Vec<_>>();
        assert_eq!(all("a, b=\"1,2\" ,c"), ["c", "b=\"1,2\"", "a"]);
        assert_eq!(all("a=\"x, b, c"), ["c", "b", "a=\"x"]);
        assert_eq!(all(""), [""]);
    }
}
