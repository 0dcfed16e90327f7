//! Errors of a store, classified by what the caller should do.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The kind of a [`StoreError`]: it tells the caller what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// A named bound has been reached: nothing was done, try again a little later.
    Busy,
    /// The store cannot be reached or cannot write: nothing was done.
    Unavailable,
    /// It is unknown whether the change was made. A repetition may make it twice, unless the operation finds its first
    /// answer ([`Idempotent`](petstore_domain::Idempotent)). So a store never repeats a change, and a caller repeats it
    /// only under an idempotency key.
    Indeterminate,
    /// The data that was read is not the data that was written, or an operation failed inside the store.
    Corrupt,
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the store is busy",
            Self::Unavailable => "the store is unavailable",
            Self::Indeterminate => "the outcome is unknown",
            Self::Corrupt => "the store is damaged",
        })
    }
}

/// A store's failure: its kind, what failed, and the driver's error that caused it. For the log, never for the client.
///
/// The message says what failed and leaves the cause to the source. `Display` shows the kind and the message;
/// [`StoreError::report`] adds the sources, and is meant for logs. No source may show a secret or a client's data: a
/// driver whose errors can contain them is wrapped in an error that does not.
///
/// ```
/// use std::io;
/// use petstore_ports::{StoreError, StoreErrorKind};
///
/// let error = StoreError::unavailable("append").with_source(io::Error::other("connection reset"));
/// assert_eq!(error.kind(), StoreErrorKind::Unavailable);
/// assert_eq!(error.to_string(), "the store is unavailable: append");
/// assert_eq!(error.report(), "the store is unavailable: append: connection reset");
/// ```
// Boxed, because functions on the hot path return this error: their `Result` stays about as small as its success
// value.
#[derive(Clone)]
pub struct StoreError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: StoreErrorKind,
    message: Cow<'static, str>,
    /// Shared by clones of the error, because all callers of a failed batch get the same error.
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// A failure without a source.
    pub fn new(kind: StoreErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), source: None }))
    }

    /// A [`StoreErrorKind::Busy`] failure: nothing was done, because too much waits.
    pub fn busy(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StoreErrorKind::Busy, message)
    }

    /// A [`StoreErrorKind::Unavailable`] failure: nothing was done, and a retry may succeed.
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StoreErrorKind::Unavailable, message)
    }

    /// A [`StoreErrorKind::Indeterminate`] failure: the change was made or not.
    pub fn indeterminate(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StoreErrorKind::Indeterminate, message)
    }

    /// A [`StoreErrorKind::Corrupt`] failure: stored data cannot be read, and a retry does not help.
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StoreErrorKind::Corrupt, message)
    }

    /// Returns the same failure with this error as its source.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Returns the same failure with another kind. Its message and its source stay.
    #[must_use]
    pub fn with_kind(mut self, kind: StoreErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The kind, which tells the caller what to do.
    pub fn kind(&self) -> StoreErrorKind {
        self.0.kind
    }

    /// The failure in words, without the kind and the source.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message, followed by the messages of all sources, without the kind.
    pub fn reason(&self) -> String {
        let mut text = self.0.message.to_string();
        let mut next = self.source();
        while let Some(error) = next {
            text.push_str(": ");
            match error.downcast_ref::<Self>() {
                // The kind of a source is left out, because only the kind of the outermost error counts.
                Some(inner) => text.push_str(inner.message()),
                None => text.push_str(&error.to_string()),
            }
            next = error.source();
        }
        text
    }

    /// The kind, the message, and the messages of all sources, in one line.
    pub fn report(&self) -> String {
        format!("{}: {}", self.0.kind, self.reason())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.message)
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, source } = &*self.0;
        f.debug_struct("StoreError")
            .field("kind", kind)
            .field("message", message)
            .field("source", source)
            .finish()
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Compares the reports, because errors of drivers cannot be compared.
impl PartialEq for StoreError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.reason() == other.reason()
    }
}

impl Eq for StoreError {}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_sources_of_a_source_are_reported_each_once() {
        let driver = StoreError::corrupt("append").with_source(io::Error::other("code 13"));
        let error = StoreError::unavailable("nothing was written").with_source(driver);
        assert_eq!(error.report(), "the store is unavailable: nothing was written: append: code 13");
        assert_eq!(error.to_string(), "the store is unavailable: nothing was written");
        let mut depth = 0;
        let mut next: Option<&dyn Error> = Some(&error);
        while let Some(error) = next {
            (depth, next) = (depth + 1, error.source());
        }
        assert_eq!(depth, 3, "a caller that walks the chain meets the driver's error");
    }

    #[test]
    fn another_kind_keeps_the_source() {
        let error = StoreError::busy("locked").with_source(io::Error::other("code 5"));
        let error = error.with_kind(StoreErrorKind::Unavailable);
        assert_eq!(error.report(), "the store is unavailable: locked: code 5");
    }

    #[test]
    fn errors_with_other_sources_differ() {
        let failed = |source| StoreError::unavailable("append").with_source(io::Error::other(source));
        assert_eq!(failed("full"), failed("full"));
        assert_ne!(failed("full"), failed("gone"));
        assert_ne!(failed("full"), StoreError::unavailable("append"));
    }

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Result<(), StoreError>>(), size_of::<usize>());
    }
}
