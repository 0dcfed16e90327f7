//! One object for each runtime.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::runtime::{Handle, Id};

/// The maximum number of objects. Further runtimes use that of the background runtime.
const RUNTIMES_MAX: usize = 256;

/// One object for each runtime, such as a connection, whose tasks the runtime itself drives. Each thread of the server has a
/// separate runtime, so a request does not change threads.
#[derive(Debug)]
pub struct ByRuntime<T> {
    background: Handle,
    all: RwLock<HashMap<Id, Arc<T>>>,
}

impl<T> ByRuntime<T> {
    /// No object yet. Threads without a runtime use the object of the `background` runtime.
    pub fn new(background: Handle) -> Self {
        Self { background, all: RwLock::default() }
    }

    /// Returns the object of the current runtime, which is created at the first call, and the runtime that drives it.
    pub fn get(&self, new: impl Fn() -> T) -> (Arc<T>, Handle) {
        // A thread without a runtime cannot drive a connection.
        let runtime = Handle::try_current().unwrap_or_else(|_| self.background.clone());
        let (known, count) = {
            let all = self.all.read();
            (all.get(&runtime.id()).cloned(), all.len())
        };
        match known {
            Some(known) => (known, runtime),
            None if count < RUNTIMES_MAX => (self.insert(&runtime, new), runtime),
            None => (self.insert(&self.background, new), self.background.clone()),
        }
    }

    fn insert(&self, runtime: &Handle, new: impl Fn() -> T) -> Arc<T> {
        Arc::clone(self.all.write().entry(runtime.id()).or_insert_with(|| Arc::new(new())))
    }
}
