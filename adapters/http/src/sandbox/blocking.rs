//! Work of the sandbox's port, which blocks.

use petstore_ports::StoreError;

/// Runs blocking work on one of the runtime's threads for such work.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StoreError::corrupt("the sandbox panicked")))
}
