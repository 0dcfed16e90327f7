//! Reading the body of a request to the sandbox.

use hyper::http::request::Parts;

use super::bodies::BODY_MAX;
use crate::exchange::body::RequestBody;
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
    wire::check_content_type(&parts.headers, false)?;
    let bytes = body.read(BODY_MAX, app.settings.deadlines.body).await?;
    Ok(parse(&bytes)?)
}
