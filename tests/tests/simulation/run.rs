//! One run of one seed, on a thread of its own: nothing that another run left on its thread may matter.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_tests::Random;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use crate::book::{Book, Counts, Over};
use crate::bugs::Bug;
use crate::client::Client;
use crate::clock::{SimClock, SimEntropy};
use crate::model::quotas::Figures;
use crate::operator::Operator;
use crate::process::Surroundings;
use crate::temper::Temper;
use crate::troubles::{end_processes, fail_disks, step_clocks};
use crate::world::World;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Of its trace.
    pub(crate) digest: u64,
    pub(crate) events: u64,
    pub(crate) simulated: Duration,
    pub(crate) counts: Counts,
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// The promise that was broken, and what happened before.
    pub(crate) failure: Option<(String, String)>,
}

/// Runs a seed. A loud run prints its trace as it goes.
pub(crate) fn run(seed: u64, bug: Option<Bug>, loud: bool) -> Outcome {
    let thread = std::thread::Builder::new().name(format!("seed {seed}"));
    let running = thread.spawn(move || {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build_local(LocalOptions::default());
        let runtime = runtime.expect("a runtime without a socket");
        runtime.block_on(simulate(seed, bug, loud))
    });
    running.expect("a thread can be had").join().expect("a run does not panic")
}

async fn simulate(seed: u64, bug: Option<Bug>, loud: bool) -> Outcome {
    let mut random = Random::seeded(seed);
    let temper = Temper::of(&mut random);
    let clock = Arc::new(SimClock::showing(temper.begins));
    let figures =
        Figures { in_flight: temper.in_flight_max, address: temper.address_limit, strikes: temper.strikes };
    let book = Arc::new(Book::new(Arc::clone(&clock), figures, loud));
    book.note(&format!("{temper:?}"));
    let entropy = Arc::new(SimEntropy(Mutex::new(Random::seeded(random.bits()))));
    let around = Surroundings { book: Arc::clone(&book), clock, entropy, temper, bug };
    let world = World::new(around, random);
    let temper = world.around.temper.clone();

    let mut operator = Operator::new(&world);
    operator.open().await;
    let mut tasks = vec![spawn_local(operator.live())];
    tasks.extend((0..temper.clients).map(|number| spawn_local(Client::new(&world, number).live())));
    let share = || (Rc::clone(&world), world.fork());
    if let Some(between) = temper.between_ends {
        let (world, random) = share();
        tasks.push(spawn_local(end_processes(world, random, between)));
    }
    if let Some(between) = temper.between_disk_faults {
        let (world, random) = share();
        tasks.push(spawn_local(fail_disks(world, random, between)));
    }
    if let Some(between) = temper.between_clock_steps {
        let (world, random) = share();
        tasks.push(spawn_local(step_clocks(world, random, between)));
    }
    tokio::select! {
        biased;
        () = book.broken.notified() => {}
        () = first_to_end(&mut tasks) => book.fail("somebody who acts has panicked".to_owned()),
        () = sleep(temper.lasts) => {}
    }
    tasks.iter().for_each(JoinHandle::abort);
    if book.failure().is_none() {
        // At the end all that was acknowledged is on disk.
        world.crash();
        world.start(Over::Crash);
        world.crash();
    }
    let failure = book.failure().map(|what| (what, book.with_trace(crate::trace::Trace::tail)));
    let (digest, events) = book.with_trace(|trace| (trace.digest(), trace.events()));
    Outcome {
        digest,
        events,
        simulated: book.elapsed(),
        counts: book.counts(),
        outcomes: book.outcomes(),
        failure,
    }
}

/// Waits for the first of those who never end by themselves.
async fn first_to_end(tasks: &mut [JoinHandle<()>]) {
    std::future::poll_fn(|context| {
        let ended = tasks.iter_mut().any(|task| std::pin::Pin::new(task).poll(context).is_ready());
        if ended { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
