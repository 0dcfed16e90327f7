//! The bounds of a request head that hyper does not enforce.

use hyper::http::request::Parts;

use super::RequestHead;
use crate::base::settings::{FIELDS_MAX, HEAD_MAX, TARGET_MAX};
use crate::wire::error::{ApiError, Code};

/// Number of bytes of a head besides its method, target and fields: two spaces, the version and two line ends.
const HEAD_FRAME: usize = "  HTTP/1.1\r\n\r\n".len();

/// Refuses a head beyond its bounds, and a body with an unsupported transfer coding.
pub(crate) fn check(parts: &Parts, head: &RequestHead<'_>) -> Result<(), ApiError> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_MAX {
        let message = format!("The request target is longer than {TARGET_MAX} bytes.");
        return Err(ApiError::new(Code::UriTooLong, message));
    }
    if head.has_other_coding() {
        let message = "The Transfer-Encoding is not supported; only chunked is, and only once.";
        return Err(ApiError::new(Code::InvalidHeader, message));
    }
    if parts.method.as_str().len() + target + HEAD_FRAME + head.bytes > HEAD_MAX {
        let message = format!("The request head is longer than {HEAD_MAX} bytes.");
        return Err(ApiError::new(Code::HeadersTooLarge, message));
    }
    if parts.headers.len() > FIELDS_MAX {
        let message = format!("The request head has more than {FIELDS_MAX} fields.");
        return Err(ApiError::new(Code::HeadersTooLarge, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_head_beyond_its_bound_is_refused() {
        let (mut parts, ()) = Request::new(()).into_parts();
        assert_eq!(check(&parts, &RequestHead::read(&parts.headers)), Ok(()));
        let around = "GET / HTTP/1.1\r\nx-long: \r\n\r\n".len();
        let longest = HeaderValue::from_bytes(&[b'x'; HEAD_MAX][around..]).unwrap();
        parts.headers.insert("x-long", longest);
        assert_eq!(check(&parts, &RequestHead::read(&parts.headers)), Ok(()));
        let longer = HeaderValue::from_bytes(&[b'x'; HEAD_MAX][around - 1..]).unwrap();
        parts.headers.insert("x-long", longer);
        assert_eq!(
            check(&parts, &RequestHead::read(&parts.headers)).unwrap_err().code,
            Code::HeadersTooLarge
        );
        parts.uri = format!("/{}", "x".repeat(TARGET_MAX)).parse().unwrap();
        assert_eq!(check(&parts, &RequestHead::read(&parts.headers)).unwrap_err().code, Code::UriTooLong);
    }
}
