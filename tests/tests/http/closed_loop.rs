//! Load that waits for answers: each client has one connection, and one request at a time.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

use crate::open_loop::ask;

/// The interval at which a condition is polled, and the time limit for it.
const LOOK: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_mins(1);

/// A closed loop of few clients, and a crowd of clients that starts with them and leaves earlier.
pub(crate) struct Loops<'l> {
    pub(crate) address: SocketAddr,
    pub(crate) request: Vec<u8>,
    pub(crate) few: usize,
    pub(crate) crowd: usize,
    /// Returns whether the crowd must leave now.
    pub(crate) crowd_leaves: &'l dyn Fn() -> bool,
    /// Returns whether the server has noticed that the crowd has left.
    pub(crate) has_left: &'l dyn Fn() -> bool,
    /// The time for which the few clients continue after the crowd has left.
    pub(crate) time: Duration,
}

impl Loops<'_> {
    /// Runs the clients. Returns the statuses of the answers to requests that the few clients sent after the crowd had
    /// left.
    pub(crate) fn run(self) -> Vec<u16> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let [stays, goes_on] = [(); 2].map(|()| Rc::new(Cell::new(true)));
            let counts = Rc::new(Cell::new(false));
            let statuses = Rc::<RefCell<Vec<u16>>>::default();
            let never = Rc::new(Cell::new(false));
            let crowd: Vec<_> =
                (0..self.crowd).map(|_| self.client(&stays, &never, &Rc::default())).collect();
            let few: Vec<_> = (0..self.few).map(|_| self.client(&goes_on, &counts, &statuses)).collect();
            until(self.crowd_leaves).await;
            stays.set(false);
            for client in crowd {
                client.await.unwrap();
            }
            until(self.has_left).await;
            counts.set(true);
            sleep(self.time).await;
            goes_on.set(false);
            for client in few {
                client.await.unwrap();
            }
            statuses.take()
        })
    }

    /// Sends requests while `goes_on` is set. Records the status of each answer whose request was sent while `counts`
    /// was set.
    fn client(
        &self,
        goes_on: &Rc<Cell<bool>>,
        counts: &Rc<Cell<bool>>,
        statuses: &Rc<RefCell<Vec<u16>>>,
    ) -> JoinHandle<()> {
        let (goes_on, counts, statuses) = (Rc::clone(goes_on), Rc::clone(counts), Rc::clone(statuses));
        let (address, request) = (self.address, self.request.clone());
        spawn_local(async move {
            let mut connection = None;
            while goes_on.get() {
                let is_counted = counts.get();
                let (kept, head) = ask(address, connection.take(), &request).await.unwrap();
                connection = Some(kept);
                if is_counted {
                    statuses.borrow_mut().push(head.split(' ').nth(1).unwrap().parse().unwrap());
                }
            }
        })
    }
}

async fn until(happened: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        sleep(LOOK).await;
    }
}
