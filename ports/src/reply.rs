//! An answer that is usually there at once.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer of a port on the hot path: ready, or a future.
///
/// A store in memory answers at once; a boxed future for that would cost an allocation at every crossing. A store
/// behind a network answers later.
///
/// ```
/// use petstore_ports::Reply;
///
/// let pence = std::sync::Arc::new(2);
/// let reply = Reply::now(20).map(|half| half * 2);
/// let reply = reply.and_then(&pence, |pence, n| { let sum = n + **pence; Reply::later(async move { sum }) });
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let mut reply = std::pin::pin!(reply);
/// # assert_eq!(reply.as_mut().poll(&mut context), std::task::Poll::Ready(42));
/// ```
#[must_use = "a reply that is not awaited may do nothing"]
pub struct Reply<T>(Inner<T>);

enum Inner<T> {
    /// None once it has been polled.
    Now(Option<T>),
    Later(Later<T>),
}

impl<T> Reply<T> {
    /// An answer that is there.
    pub const fn now(value: T) -> Self {
        Self(Inner::Now(Some(value)))
    }

    /// An answer that takes its time.
    pub fn later(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Inner::Later(Box::pin(future)))
    }
}

impl<T: Send + 'static> Reply<T> {
    /// The answer, changed.
    pub fn map<U: Send + 'static>(self, change: impl FnOnce(T) -> U + Send + 'static) -> Reply<U> {
        match self.0 {
            Inner::Now(value) => Reply(Inner::Now(value.map(change))),
            Inner::Later(future) => Reply::later(async move { change(future.await) }),
        }
    }

    /// What follows from the answer. What `next` needs besides is lent to it, and cloned only for an answer that takes
    /// its time: two atomic counts less on the way of every request.
    pub fn and_then<C: Clone + Send + Sync + 'static, U: Send + 'static>(
        self,
        context: &C,
        next: impl FnOnce(&C, T) -> Reply<U> + Send + 'static,
    ) -> Reply<U> {
        match self.0 {
            Inner::Now(Some(value)) => next(context, value),
            Inner::Now(None) => Reply(Inner::Now(None)),
            Inner::Later(future) => {
                let context = context.clone();
                Reply::later(async move { next(&context, future.await).await })
            }
        }
    }
}

/// The value is never pinned: it is moved out when it is ready.
impl<T> Unpin for Reply<T> {}

impl<T> Future for Reply<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Inner::Now(value) => Poll::Ready(value.take().expect("a reply is polled until it is ready")),
            Inner::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Inner::Now(_) => "Reply::now",
            Inner::Later(_) => "Reply::later",
        })
    }
}
