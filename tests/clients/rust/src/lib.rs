//! The parts that both tours share.

/// Returns a setting of the environment.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Returns the cursor of the next page, from the address in the Link header.
pub fn next_cursor(headers: &reqwest::header::HeaderMap) -> Option<String> {
    let links = headers.get("link")?.to_str().ok()?;
    let next = links.split(", <").find(|link| link.ends_with(r#"rel="next""#))?;
    let address = reqwest::Url::parse(next.trim_start_matches('<').split('>').next()?).ok()?;
    address.query_pairs().find(|(name, _)| name == "cursor").map(|(_, cursor)| cursor.into_owned())
}
