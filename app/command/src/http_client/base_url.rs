//! The base URL of a server.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use hyper::Uri;
use hyper::http::uri::Scheme;

const EXPECTED: &str = "expected a base URL such as http://127.0.0.1:8080/v1 or https://petstore.example/v1";

/// A base URL, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    pub(super) is_secure: bool,
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// The host and the port as they were written, for the header `Host`.
    pub(super) authority: String,
    /// The path, without a slash at its end.
    pub(super) path: String,
}

impl BaseUrl {
    /// Returns the URL of an address, without a path.
    pub(crate) fn of_address(address: SocketAddr, is_secure: bool) -> Self {
        let (host, port) = (address.ip().to_string(), address.port());
        Self { is_secure, host, port, authority: address.to_string(), path: String::new() }
    }

    /// Returns the URL with this path, if it has none.
    pub(crate) fn or_path(self, path: &str) -> Self {
        if self.path.is_empty() { Self { path: path.to_owned(), ..self } } else { self }
    }

    /// Returns the URL without its path.
    pub(crate) fn origin(self) -> Self {
        Self { path: String::new(), ..self }
    }

    /// Parses an absolute URL without user, query and fragment.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let uri = Uri::from_str(text).map_err(|_| EXPECTED.to_owned())?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(EXPECTED.to_owned()),
        };
        let authority = uri.authority().ok_or(EXPECTED)?;
        if authority.as_str().contains('@') {
            return Err(
                "expected a URL without a user: name the API key with --key, --key-file or PETSTORE_KEY"
                    .to_owned(),
            );
        }
        if uri.query().is_some() || text.contains('#') || authority.host().is_empty() {
            return Err(EXPECTED.to_owned());
        }
        let default_port = if is_secure { 443 } else { 80 };
        let port = match authority.as_str()[authority.host().len()..].strip_prefix(':') {
            None => default_port,
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(EXPECTED)?,
        };
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        Ok(Self {
            is_secure,
            host: bare.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_has_a_host_a_port_and_a_path() {
        for (text, is_secure, host, port, path) in [
            ("http://127.0.0.1:8080/v1", false, "127.0.0.1", 8080, "/v1"),
            ("http://localhost", false, "localhost", 80, ""),
            ("https://petstore.example/shop/v1/", true, "petstore.example", 443, "/shop/v1"),
            ("https://[::1]:8443/", true, "::1", 8443, ""),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            let parts = (url.is_secure, &*url.host, url.port, &*url.path);
            assert_eq!(parts, (is_secure, host, port, path), "{text}");
            assert_eq!(url.to_string(), text.trim_end_matches('/'), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "127.0.0.1:8080",
            "/v1",
            "ftp://a/v1",
            "http://",
            "http://a:0/",
            "http://a:99999/",
            "http://a:x/",
            "http://a/v1?b=c",
            "http://a/v1#b",
            "http://user:secret@a/v1",
            "http://a b/",
            "http://a/ b",
        ] {
            let refused = BaseUrl::parse(text).unwrap_err();
            assert!(refused.starts_with("expected"), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{text}: {refused}");
        }
    }
}
