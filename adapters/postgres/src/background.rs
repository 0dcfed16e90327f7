//! The thread of a store, with its own runtime: it drives the connections that all threads of a node share.

use std::sync::mpsc;
use std::thread::JoinHandle;

use petstore_ports::StoreError;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread that runs tasks until it is stopped.
pub(crate) struct Background {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            let sent = sender
                .send(runtime.as_ref().map(|runtime| runtime.handle().clone()).map_err(std::io::Error::kind));
            if let (Ok(runtime), Ok(())) = (runtime, sent) {
                let _: Result<(), _> = runtime.block_on(stopped);
            }
        };
        let thread = std::thread::Builder::new().name("postgres".to_owned()).spawn(run)?;
        let handle = receiver.recv().map_err(|_| std::io::Error::other("the thread ended"))??;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Runs a future on the thread, and blocks until it is done. Must not be called from the thread itself.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move {
            // The caller waits for it.
            let _: Result<(), _> = sender.send(future.await);
        });
        receiver.recv().map_err(|_| StoreError::unavailable("the thread of the store has ended"))
    }

    /// The runtime of the thread.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic in a task ends that task alone, so the thread ends without one.
            let _: Result<(), _> = thread.join();
        }
    }
}
