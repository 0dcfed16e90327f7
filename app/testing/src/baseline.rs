//! The shop that a reset restores.

use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;

use crate::client::{SandboxClient, Sent};
use crate::error::TestingError;

const PATH: &str = "/sandbox/baseline";

/// The content type of a shop.
const LINES: &str = "application/x-ndjson";

/// The numbers of records in a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BaselineCounts {
    /// The number of categories.
    pub categories: u64,
    /// The number of pets.
    pub pets: u64,
    /// The number of orders.
    pub orders: u64,
}

/// Returns the lines of the baseline.
pub(crate) async fn read(client: &SandboxClient) -> Result<String, TestingError> {
    let lines = client.send(Method::GET, PATH, None).await?;
    Ok(String::from_utf8_lossy(&lines).into_owned())
}

/// Sets the baseline.
pub(crate) async fn put(client: &SandboxClient, lines: Bytes) -> Result<BaselineCounts, TestingError> {
    client.exchange(Method::PUT, PATH, Some(Sent { body: lines, content_type: LINES })).await
}

/// Makes the present shop the baseline.
pub(crate) async fn save(client: &SandboxClient) -> Result<BaselineCounts, TestingError> {
    client.exchange(Method::POST, PATH, None).await
}

/// Returns to the baseline of the start.
pub(crate) async fn discard(client: &SandboxClient) -> Result<(), TestingError> {
    client.send(Method::DELETE, PATH, None).await.map(drop)
}
