//! Links to other pages, in a `Link` header (RFC 8288).

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Returns the `Link` value of a page: the first page, and the next page if there is a cursor.
///
/// `origin` has no trailing slash, `path` has a leading one, and `query` is built with [`push_parameter`].
pub(crate) fn page_links(origin: &str, path: &str, query: &str, cursor: Option<&str>) -> String {
    // Room for both URLs, the cursor and the text around them.
    let mut links = String::with_capacity(2 * (origin.len() + path.len() + query.len()) + 96);
    push_address(&mut links, origin, path, query);
    links.push_str(">; rel=\"first\"");
    match cursor {
        Some(cursor) => next_link(links, origin, path, query, cursor),
        None => links,
    }
}

/// Adds the link to the page that begins at a cursor.
pub(crate) fn next_link(mut links: String, origin: &str, path: &str, query: &str, cursor: &str) -> String {
    links.push_str(", ");
    push_address(&mut links, origin, path, query);
    links.push(if query.is_empty() { '?' } else { '&' });
    links.push_str("cursor=");
    links.push_str(cursor);
    links.push_str(">; rel=\"next\"");
    links
}

fn push_address(links: &mut String, origin: &str, path: &str, query: &str) {
    links.push('<');
    links.push_str(origin);
    links.push_str(path);
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
    for byte in value.bytes() {
        // These are the unreserved characters of RFC 3986, and the comma between the values of one parameter.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b',') {
            query.push(char::from(byte));
        } else {
            query.push('%');
            query.push(char::from(DIGITS[usize::from(byte >> 4)]));
            query.push(char::from(DIGITS[usize::from(byte & 15)]));
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
        assert_eq!(query, "status=available,sold&name=a%2Bb%20%26%3D%22%3C%3E%C3%A9%25");
    }
}
