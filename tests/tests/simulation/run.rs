//! One run of one seed. Each run has a separate thread, so that thread-local state of an earlier run cannot affect it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petstore_tests::Random;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use crate::bugs::Bug;
use crate::client::Client;
use crate::clock::{SimClock, SimEntropy};
use crate::fault_injection::{end_processes, fail_disks, step_clocks};
use crate::model::quotas::QuotaSettings;
use crate::operator::Operator;
use crate::oracle::{Counts, Ending, Oracle};
use crate::process::Environment;
use crate::profile::Profile;
use crate::subscriber::Subscriber;
use crate::world::World;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The digest of the run's trace.
    pub(crate) digest: u64,
    pub(crate) events: u64,
    pub(crate) simulated: Duration,
    pub(crate) counts: Counts,
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// The guarantee that was broken, and the end of the trace.
    pub(crate) failure: Option<(String, String)>,
}

/// Runs a seed. A verbose run prints its trace as it goes.
pub(crate) fn run(seed: u64, bug: Option<Bug>, verbose: bool) -> Outcome {
    let thread = std::thread::Builder::new().name(format!("seed {seed}"));
    let running = thread.spawn(move || {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build_local(LocalOptions::default());
        let runtime = runtime.expect("a runtime without a socket");
        runtime.block_on(simulate(seed, bug, verbose))
    });
    running.expect("a thread can be had").join().expect("a run does not panic")
}

async fn simulate(seed: u64, bug: Option<Bug>, verbose: bool) -> Outcome {
    let mut random = Random::seeded(seed);
    let profile = Profile::of(&mut random);
    let clock = Arc::new(SimClock::showing(profile.begins));
    let settings = QuotaSettings {
        in_flight: profile.in_flight_max,
        address: profile.address_limit,
        strikes: profile.strikes,
    };
    let oracle = Arc::new(Oracle::new(Arc::clone(&clock), settings, verbose));
    oracle.note(&format!("{profile:?}"));
    let entropy = Arc::new(SimEntropy(Mutex::new(Random::seeded(random.bits()))));
    let environment = Environment { oracle: Arc::clone(&oracle), clock, entropy, profile, bug };
    let world = World::new(environment, random);
    let profile = world.environment.profile.clone();

    let mut operator = Operator::new(&world);
    operator.open().await;
    let mut tasks = vec![spawn_local(operator.run())];
    tasks.extend((0..profile.clients).map(|number| spawn_local(Client::new(&world, number).run())));
    if profile.has_webhooks {
        tasks.push(spawn_local(Subscriber::new(&world).run()));
    }
    let share = || (Rc::clone(&world), world.fork());
    if let Some(between) = profile.between_ends {
        let (world, random) = share();
        tasks.push(spawn_local(end_processes(world, random, between)));
    }
    if let Some(between) = profile.between_disk_faults {
        let (world, random) = share();
        tasks.push(spawn_local(fail_disks(world, random, between)));
    }
    if let Some(between) = profile.between_clock_steps {
        let (world, random) = share();
        tasks.push(spawn_local(step_clocks(world, random, between)));
    }
    tokio::select! {
        biased;
        () = oracle.broken.notified() => {}
        () = first_to_end(&mut tasks) => oracle.fail("a task of the simulation has panicked".to_owned()),
        () = sleep(profile.lasts) => {}
    }
    tasks.iter().for_each(JoinHandle::abort);
    if oracle.failure().is_none() {
        // The run ends with a crash, a start and another crash. At the start the oracle checks that the disk holds
        // everything that was acknowledged.
        world.crash();
        world.start(Ending::Crash);
        world.crash();
    }
    let failure = oracle.failure().map(|what| (what, oracle.with_trace(crate::trace::Trace::tail)));
    let (digest, events) = oracle.with_trace(|trace| (trace.digest(), trace.events()));
    Outcome {
        digest,
        events,
        simulated: oracle.elapsed(),
        counts: oracle.counts(),
        outcomes: oracle.outcomes(),
        failure,
    }
}

/// Waits until a task ends. The tasks run without end, so a task that ends has panicked.
async fn first_to_end(tasks: &mut [JoinHandle<()>]) {
    std::future::poll_fn(|context| {
        let ended = tasks.iter_mut().any(|task| std::pin::Pin::new(task).poll(context).is_ready());
        if ended { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
