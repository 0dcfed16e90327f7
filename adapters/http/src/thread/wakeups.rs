//! Batched wake-ups from other threads.
//!
//! A journalled store completes a batch of writes at once, on its own thread. Waking a task of another thread takes a
//! system call, which costs about as much as the rest of a write. So the tasks of requests that write are woken through
//! a queue: the first entry wakes the dispatcher, a task of this thread, and the dispatcher wakes all queued tasks
//! locally.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// The queue of wake-ups of one thread.
#[derive(Default)]
pub(crate) struct Wakeups(Arc<WakeupQueue>);

#[derive(Default)]
struct WakeupQueue(Mutex<QueuedTasks>);

#[derive(Default)]
struct QueuedTasks {
    /// Tasks to be woken.
    waiting: Vec<Waker>,
    dispatcher: Option<Waker>,
}

impl Wakeups {
    /// Wakes queued tasks, forever. Spawn it once, on the thread of these tasks.
    pub(crate) fn dispatcher(&self) -> impl Future<Output = ()> + use<> {
        let queue = Arc::clone(&self.0);
        std::future::poll_fn(move |context| {
            let waiting = queue.take(context);
            waiting.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
    }

    /// Runs a future whose wake-ups go through the queue.
    pub(crate) async fn run<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        // A future is nearly always polled by the same task, so the waker that queues its wake-up is created once.
        let mut cached: Option<(Waker, Waker)> = None;
        std::future::poll_fn(move |context| {
            let task = context.waker();
            let known = cached.take().filter(|(known, _)| known.will_wake(task));
            let (_, waker) = cached.insert(known.unwrap_or_else(|| (task.clone(), self.waker(task))));
            future.as_mut().poll(&mut Context::from_waker(waker))
        })
        .await
    }

    fn waker(&self, task: &Waker) -> Waker {
        Waker::from(Arc::new(QueuedWaker { queue: Arc::clone(&self.0), task: task.clone() }))
    }
}

impl WakeupQueue {
    fn take(&self, context: &mut Context<'_>) -> Vec<Waker> {
        let mut state = self.0.lock();
        if !state.dispatcher.as_ref().is_some_and(|dispatcher| dispatcher.will_wake(context.waker())) {
            state.dispatcher = Some(context.waker().clone());
        }
        std::mem::take(&mut state.waiting)
    }

    fn push(&self, task: Waker) {
        let dispatcher = {
            let mut state = self.0.lock();
            state.waiting.push(task);
            // Only the first entry wakes the dispatcher. An earlier entry has already done so.
            if state.waiting.len() == 1 { state.dispatcher.clone() } else { None }
        };
        // The lock is released first, because a waker is foreign code.
        if let Some(dispatcher) = dispatcher {
            dispatcher.wake();
        }
    }
}

/// A waker that queues the wake-up of one task.
struct QueuedWaker {
    queue: Arc<WakeupQueue>,
    task: Waker,
}

impl Wake for QueuedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.queue.push(self.task.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake_counter::WakeCounter;

    #[test]
    fn the_dispatcher_is_woken_once_for_a_batch_and_wakes_each_task() {
        let (wakeups, dispatcher, task) =
            (Wakeups::default(), Arc::new(WakeCounter::default()), Arc::new(WakeCounter::default()));
        let mut dispatching = std::pin::pin!(wakeups.dispatcher());
        let dispatcher_waker = Waker::from(Arc::clone(&dispatcher));
        let mut context = Context::from_waker(&dispatcher_waker);
        assert!(dispatching.as_mut().poll(&mut context).is_pending());
        for round in 1..=3 {
            for _ in 0..64 {
                wakeups.waker(&Waker::from(Arc::clone(&task))).wake();
            }
            assert_eq!(dispatcher.count(), round);
            assert!(dispatching.as_mut().poll(&mut context).is_pending());
            assert_eq!(task.count(), round * 64);
        }
    }
}
