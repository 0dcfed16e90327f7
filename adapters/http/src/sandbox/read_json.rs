//! Reading the body of a request to the sandbox.

use bytes::Bytes;
use hyper::http::request::Parts;

use super::bodies::BODY_MAX;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::thread::shared::App;
use crate::wire;
use crate::wire::error::ApiError;

/// Reads and parses a body of JSON.
pub(super) async fn read<T>(
    app: &App,
    parts: &Parts,
    body: &mut RequestBody,
    parse: fn(&[u8]) -> Result<T, ApiError>,
) -> Result<T, Answer> {
    Ok(parse(&read_bytes(app, parts, body).await?)?)
}

/// Reads a body of JSON. No bytes are no body, whatever its type.
pub(super) async fn read_bytes(app: &App, parts: &Parts, body: &mut RequestBody) -> Result<Bytes, Answer> {
    let deadline = app.settings.deadlines.body;
    match wire::check_content_type(&parts.headers, false) {
        Ok(()) => Ok(body.read(BODY_MAX, deadline).await?),
        Err(_) if body.ends_at_once(deadline).await? => Ok(Bytes::new()),
        Err(unsupported) => Err(unsupported.into()),
    }
}
