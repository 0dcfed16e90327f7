//! The header `Link`, as far as the server writes it.

/// Returns the cursor in the link to the next page.
pub(crate) fn next_cursor(links: &str) -> Option<&str> {
    let link = links.split(", <").find(|link| link.contains("rel=\"next\""))?;
    let target = link.trim_start_matches('<').split('>').next()?;
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("cursor="))
}

#[cfg(test)]
mod tests {
    use super::next_cursor;

    #[test]
    fn the_cursor_is_in_the_link_to_the_next_page() {
        for (links, expected) in [
            ("", None),
            (r#"<http://h/v1/pets>; rel="first""#, None),
            (r#"<http://h/v1/pets>; rel="first", <http://h/v1/pets?cursor=1ab>; rel="next""#, Some("1ab")),
            (
                r#"<http://h/p?limit=2>; rel="first", <http://h/p?limit=2&cursor=1ab>; rel="next""#,
                Some("1ab"),
            ),
            (r#"<http://h/p?cursor=1ab>; rel="first""#, None),
            (r#"<http://h/p?before=1ab>; rel="next""#, None),
        ] {
            assert_eq!(next_cursor(links), expected, "{links}");
        }
    }
}
