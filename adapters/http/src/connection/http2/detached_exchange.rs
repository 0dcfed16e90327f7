//! An exchange that continues after its stream was reset. hyper drops the future of an exchange when the client resets
//! the stream, but the store executes the submitted operation anyway. So the exchange continues without the client. It
//! is logged, and until it ends it counts as a request in flight of its account.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::task::spawn_local;

use super::flow_control::{ExchangeGuard, FlowControl};

/// An exchange that runs to its end even if it is dropped.
pub(super) struct DetachedExchange<F: Future<Output: 'static> + 'static>(
    Option<(Pin<Box<F>>, ExchangeGuard)>,
);

impl<F: Future<Output: 'static> + 'static> DetachedExchange<F> {
    pub(super) fn new(exchange: F, flow_control: &Rc<FlowControl>) -> Self {
        Self(Some((Box::pin(exchange), ExchangeGuard::begin(flow_control))))
    }
}

impl<F: Future<Output: 'static> + 'static> Future for DetachedExchange<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // The exchange is taken out of `self` during the poll. So if the exchange panics, it is not continued when
        // `self` is dropped.
        let (mut exchange, in_progress) = self.0.take().expect("a future is not polled after its end");
        let poll = exchange.as_mut().poll(context);
        if poll.is_pending() {
            self.0 = Some((exchange, in_progress));
        }
        poll
    }
}

impl<F: Future<Output: 'static> + 'static> Drop for DetachedExchange<F> {
    fn drop(&mut self) {
        if let Some((exchange, in_progress)) = self.0.take() {
            spawn_local(async move {
                exchange.await;
                drop(in_progress);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::task::Waker;

    use tokio::sync::Notify;
    use tokio::task::LocalSet;

    use super::*;
    use crate::io::activity::Activity;

    #[tokio::test]
    async fn a_dropped_exchange_continues_and_its_connection_ends_after_it() {
        LocalSet::new()
            .run_until(async {
                let flow_control = Rc::new(FlowControl::new(&Rc::new(Activity::new())));
                let (gate, done) = (Rc::new(Notify::new()), Rc::new(Cell::new(false)));
                let (opened, did) = (Rc::clone(&gate), Rc::clone(&done));
                let exchange = async move {
                    opened.notified().await;
                    did.set(true);
                };
                let mut begun = DetachedExchange::new(exchange, &flow_control);
                let mut context = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut begun).poll(&mut context).is_pending());
                drop(begun);
                let mut end = Box::pin(flow_control.end());
                assert!(end.as_mut().poll(&mut context).is_pending());
                gate.notify_one();
                end.await;
                assert!(done.get());
            })
            .await;
    }

    #[tokio::test]
    async fn an_exchange_that_panicked_does_not_continue() {
        LocalSet::new()
            .run_until(async {
                let flow_control = Rc::new(FlowControl::new(&Rc::new(Activity::new())));
                let mut begun = DetachedExchange::new(async { panic!("planned") }, &flow_control);
                let mut context = Context::from_waker(Waker::noop());
                let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut begun).poll(&mut context)));
                assert!(polled.is_err());
                drop(begun);
                flow_control.end().await;
            })
            .await;
    }
}
