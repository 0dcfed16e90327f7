//! A request that a receiver has saved: its headers, an empty line, and its body.

use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use petstore_ports::SignedRequest;

/// The headers and the body of a request.
#[derive(Debug, Default)]
pub(super) struct SavedRequest {
    headers: HeaderMap,
    body: Vec<u8>,
}

impl SavedRequest {
    /// Parses a whole request, with or without the line before its headers.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let ends = [(&b"\r\n\r\n"[..], 4), (b"\n\n", 2)];
        let end = ends.iter().filter_map(|(end, length)| {
            let place = text.windows(*length).position(|window| window == *end)?;
            Some((place, place + length))
        });
        let (head, body) = end.min().ok_or(
            "expected a request: its headers, an empty line, and its body; give the headers with --header if there is only \
             the body",
        )?;
        Self::of(&text[..head], text[body..].to_owned())
    }

    /// Takes headers, one a line, and a body.
    pub(super) fn of(head: &[u8], body: Vec<u8>) -> Result<Self, String> {
        let head = std::str::from_utf8(head).map_err(|_| "the headers are not text".to_owned())?;
        let mut request = Self { headers: HeaderMap::new(), body };
        for (index, line) in head.lines().enumerate() {
            let is_request_line = index == 0 && line.contains(" HTTP/");
            if !is_request_line && !line.trim().is_empty() {
                request.add(line)?;
            }
        }
        Ok(request)
    }

    /// Adds a header such as `webhook-id: evt_…`.
    pub(super) fn add(&mut self, line: &str) -> Result<(), String> {
        let parts = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::try_from(name.trim()).ok()?;
            Some((name, HeaderValue::try_from(value.trim()).ok()?))
        });
        let (name, value) =
            parts.ok_or_else(|| format!("expected a header such as `name: value`, not {line:?}"))?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// Returns the parts that are signed. If the headers tell the length of the body, a text behind it, such as the line
    /// feed of an editor, is left out.
    pub(super) fn signed(&self) -> Result<SignedRequest<'_>, String> {
        if self.headers.contains_key(TRANSFER_ENCODING) {
            return Err(
                "the body is saved in chunks (transfer-encoding): save it as your framework reads it"
                    .to_owned(),
            );
        }
        let length = self.header(CONTENT_LENGTH.as_str()).and_then(|length| length.parse::<usize>().ok());
        let body = match length {
            Some(length) if length > self.body.len() => {
                return Err(format!(
                    "body differs: the header content-length says {length} bytes, and the body has {}",
                    self.body.len()
                ));
            }
            Some(length) => &self.body[..length],
            None => &self.body,
        };
        Ok(SignedRequest {
            id: self.header("webhook-id"),
            timestamp: self.header("webhook-timestamp"),
            signature: self.header("webhook-signature"),
            body,
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_headers_and_a_body() {
        for text in [
            "POST /hook HTTP/1.1\r\nHost: a\r\nWebhook-Id: evt_1\r\ncontent-length: 2\r\n\r\n{}",
            "POST /hook HTTP/1.1\nwebhook-id: evt_1\n\n{}",
            "webhook-id:evt_1\ncontent-length: 2\n\n{}\n",
        ] {
            let request = SavedRequest::parse(text.as_bytes()).unwrap();
            let signed = request.signed().unwrap();
            assert_eq!(
                (signed.id, signed.timestamp, signed.body),
                (Some("evt_1"), None, &b"{}"[..]),
                "{text:?}"
            );
        }
        let body = SavedRequest::parse(b"a: b\n\n{}\n\n{}").unwrap();
        assert_eq!(body.signed().unwrap().body, b"{}\n\n{}", "only the first empty line ends the headers");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "{}", "webhook-id: evt_1", "no header\n\n{}", "a\u{7}: b\n\n{}"] {
            assert!(SavedRequest::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        for head in ["content-length: 3", "transfer-encoding: chunked"] {
            let request = SavedRequest::parse(format!("{head}\n\n{{}}").as_bytes()).unwrap();
            assert!(request.signed().is_err(), "{head}");
        }
    }
}
