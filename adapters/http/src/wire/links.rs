//! Links to other pages, in a `Link` header (RFC 8288).
//!
//! Many clients split the header at commas and semicolons, or read an address up to a quote. So none of these characters is
//! in an address: they are percent-encoded, in the values of the query and in a host name alike.

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Returns the `Link` value of a page: the first page, and the next page if there is a cursor.
///
/// `origin` has no trailing slash, `path` has a leading one, and `query` is built with [`push_parameter`].
pub(crate) fn page_links(origin: &str, path: &str, query: &str, cursor: Option<&str>) -> String {
    // Room for both URLs, the cursor and the text around them.
    let mut links = String::with_capacity(2 * (origin.len() + path.len() + query.len()) + 96);
    links.push('<');
    push_encoded(&mut links, origin, |byte| is_unreserved(byte) || b"%/:[]".contains(&byte));
    push_encoded(&mut links, path, |byte| is_unreserved(byte) || b"%/:@".contains(&byte));
    push_query(&mut links, query);
    links.push_str(">; rel=\"first\"");
    match cursor {
        Some(cursor) => next_link(links, query, cursor),
        None => links,
    }
}

/// Adds the link to the page that begins at a cursor to the links of [`page_links`] without one. The address is copied from
/// the first link, up to its query.
pub(crate) fn next_link(mut links: String, query: &str, cursor: &str) -> String {
    let address_end = links.find(['?', '>']).unwrap_or(links.len());
    links.push_str(", ");
    links.extend_from_within(..address_end);
    push_query(&mut links, query);
    links.push(if query.is_empty() { '?' } else { '&' });
    links.push_str("cursor=");
    links.push_str(cursor);
    links.push_str(">; rel=\"next\"");
    links
}

fn push_query(links: &mut String, query: &str) {
    if !query.is_empty() {
        links.push('?');
        links.push_str(query);
    }
}

/// Appends `name=value` to a query, with the value percent-encoded.
pub(crate) fn push_parameter(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.push_str(name);
    query.push('=');
    push_encoded(query, value, is_unreserved);
}

/// Appends a text as one segment of a path.
pub(crate) fn push_segment(path: &mut String, text: &str) {
    push_encoded(path, text, is_unreserved);
}

/// Returns whether a character is unreserved in a URL (RFC 3986, section 2.3).
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Appends a text, with the bytes that are not kept percent-encoded.
fn push_encoded(out: &mut String, text: &str, is_kept: impl Fn(u8) -> bool) {
    if text.bytes().all(&is_kept) {
        return out.push_str(text);
    }
    for byte in text.bytes() {
        if is_kept(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_is_always_linked_and_the_next_while_there_is_one() {
        assert_eq!(page_links("http://h", "/v1/pets", "", None), r#"<http://h/v1/pets>; rel="first""#);
        assert_eq!(
            page_links("http://h:8080", "/v1/pets", "", Some("abc")),
            r#"<http://h:8080/v1/pets>; rel="first", <http://h:8080/v1/pets?cursor=abc>; rel="next""#
        );
        assert_eq!(
            page_links("https://h", "/pets", "limit=2&sort=-id", Some("abc")),
            r#"<https://h/pets?limit=2&sort=-id>; rel="first", <https://h/pets?limit=2&sort=-id&cursor=abc>; rel="next""#
        );
    }

    #[test]
    fn values_are_encoded() {
        let mut query = String::new();
        push_parameter(&mut query, "status", "available,sold");
        push_parameter(&mut query, "name", "a+b &=\"<>é%");
        assert_eq!(query, "status=available%2Csold&name=a%2Bb%20%26%3D%22%3C%3E%C3%A9%25");
    }

    #[test]
    fn no_address_has_a_character_at_which_clients_split_the_header() {
        let mut query = String::new();
        push_parameter(&mut query, "name", ",;<>\"'()* =\\");
        let links = page_links("http://a,b;c=d'e", "/v1,;/pets", &query, Some("abc"));
        assert_eq!(links.matches([',', ';', '"', '\'', ' ']).collect::<String>(), "; \"\", ; \"\"");
        assert!(links.starts_with("<http://a%2Cb%3Bc%3Dd%27e/v1%2C%3B/pets?name=%2C%3B%3C%3E"), "{links}");
        let next = "http://a%2Cb%3Bc%3Dd%27e/v1%2C%3B/pets?limit=2&cursor=abc>; rel=\"next\"";
        let first = page_links("http://a,b;c=d'e", "/v1,;/pets", "after=1&limit=2", None);
        assert!(next_link(first, "limit=2", "abc").ends_with(&format!(", <{next}")));
        assert!(
            page_links("http://[::1]:80", "/v1/%70ets", "", None).starts_with("<http://[::1]:80/v1/%70ets>")
        );
    }
}
