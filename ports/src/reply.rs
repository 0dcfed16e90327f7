//! The result of a port call that is usually ready at once.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of a reply that is not ready.
pub type LaterReply<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a port on the hot path: ready, or a future.
///
/// A store in memory replies at once, and a boxed future would cost it an allocation for each call. A store behind a network
/// replies later, with a future that borrows nothing: it holds a clone of each `Arc` that it needs.
///
/// ```
/// use petstore_ports::Reply;
///
/// let reply = Reply::now(20).map(|half| half * 2).and_then(|n| Reply::later(async move { n + 2 }));
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let mut reply = std::pin::pin!(reply);
/// # assert_eq!(reply.as_mut().poll(&mut context), std::task::Poll::Ready(42));
/// ```
pub type Reply<T> = ScopedReply<'static, T>;

/// A [`Reply`] that may borrow from the port.
#[must_use = "a reply that is not awaited may do nothing"]
pub struct ScopedReply<'a, T>(Inner<'a, T>);

enum Inner<'a, T> {
    /// The value; none after the reply was polled.
    Now(Option<T>),
    Later(LaterReply<'a, T>),
}

impl<'a, T> ScopedReply<'a, T> {
    /// A reply that is ready.
    pub const fn now(value: T) -> Self {
        Self(Inner::Now(Some(value)))
    }

    /// The result, if it is ready.
    pub const fn ready(&self) -> Option<&T> {
        match &self.0 {
            Inner::Now(value) => value.as_ref(),
            Inner::Later(_) => None,
        }
    }

    /// A reply that a future completes.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self(Inner::Later(Box::pin(future)))
    }
}

impl<'a, T: Send + 'a> ScopedReply<'a, T> {
    /// Applies a function to the result, at once if the reply is ready.
    pub fn map<U: Send + 'a>(self, change: impl FnOnce(T) -> U + Send + 'a) -> ScopedReply<'a, U> {
        match self.0 {
            Inner::Now(value) => ScopedReply(Inner::Now(value.map(change))),
            Inner::Later(future) => ScopedReply::later(async move { change(future.await) }),
        }
    }

    /// Returns the reply itself if it is ready, and otherwise the reply that `wrap` makes of its future.
    pub fn or_later(self, wrap: impl FnOnce(LaterReply<'a, T>) -> Self) -> Self {
        match self.0 {
            Inner::Now(_) => self,
            Inner::Later(future) => wrap(future),
        }
    }

    /// Continues with the reply that `next` makes of the result.
    pub fn and_then<U: Send + 'a>(
        self,
        next: impl FnOnce(T) -> ScopedReply<'a, U> + Send + 'a,
    ) -> ScopedReply<'a, U> {
        match self.0 {
            Inner::Now(Some(value)) => next(value),
            Inner::Now(None) => ScopedReply(Inner::Now(None)),
            Inner::Later(future) => ScopedReply::later(async move { next(future.await).await }),
        }
    }
}

/// The value is never pinned: it is moved out when it is ready.
impl<T> Unpin for ScopedReply<'_, T> {}

impl<T> Future for ScopedReply<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Inner::Now(value) => Poll::Ready(value.take().expect("a reply is polled until it is ready")),
            Inner::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for ScopedReply<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Inner::Now(_) => "Reply::now",
            Inner::Later(_) => "Reply::later",
        })
    }
}
