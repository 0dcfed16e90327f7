//! A long run: three nodes, of which some are killed at random, and a database that is killed, too. The machine of one node
//! has a wrong clock for two fifths of the time. Of two webhooks of an account one has a dead receiver. In the middle of a run
//! of a minute or more a failover loses changes that were acknowledged. `PETSTORE_SOAK_SECONDS` sets the length, which is eight
//! seconds by default.

use std::sync::atomic::Ordering;
use std::thread::{self, sleep};
use std::time::Duration;

use petstore_test_servers::{Mode, Postgres, Stop};

use crate::common::machine_clock::{self, MachineClock};
use crate::hooks::Hooks;
use crate::load::Run;
use crate::outage::number;
use crate::scene::Scene;
use crate::trader::{Random, Trader};
use crate::{loss, machine, now, tail, verdict};

const NODES: usize = 3;
const CLIENTS: usize = 9;

/// The pause of a client after each request. It leaves time for the work that follows a fault.
const PAUSE: Duration = Duration::from_millis(15);

/// The time limit for an answer. A request whose key a node has to look up waits for the database twice.
const ANSWER_MAX: Duration = Duration::from_millis(4_200);

/// The range of the pause before a fault, in milliseconds.
const PAUSE_MIN: u64 = 500;
const PAUSE_MAX: u64 = 4_000;

/// The node whose machine has a wrong clock.
const WRONG_CLOCK: usize = 2;

/// The errors of its clock in the fifths of a run. The first one is longer than answers to idempotency keys are kept, and the
/// second one than webhooks may be old.
const ERRORS: [&str; 5] = ["+0", "+25h", "+0", "-310", "+0"];

/// The length of a run from which on it has a failover that loses changes. It takes longer than the short run of CI.
const FAILOVER_FROM: Duration = Duration::from_mins(1);

/// The faults of a run, by kind.
#[derive(Debug, Default)]
struct Faults {
    nodes_killed: u32,
    nodes_paused: u32,
    databases_killed: u32,
    databases_restarted: u32,
    databases_paused: u32,
    connections_cut: u32,
    networks_silent: u32,
    clock_errors: u32,
    failovers_with_loss: u32,
}

#[test]
fn random_kills_of_nodes_and_of_the_database_lose_nothing() {
    let Some(server) = Postgres::start() else { return };
    // Without libfaketime the skip is reported, and the rest of the run is worth while.
    let library = machine_clock::library();
    let mut scene = Scene::prepared(server, "soak", NODES, |nodes| {
        Hooks::prepare(nodes);
        let node = &mut nodes[WRONG_CLOCK];
        let clock = library.map(|library| MachineClock::new(library, node.site.folder.join("clock")));
        if let Some(clock) = &clock {
            clock.set(ERRORS[0]);
        }
        node.clock = clock;
    });
    let lasts = Duration::from_secs(number("PETSTORE_SOAK_SECONDS").unwrap_or(8));
    let seed = number("PETSTORE_SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("seed {seed}, for {lasts:?}");
    // Each client has an account, because an account can keep a limited number of answers for its idempotency keys.
    let keys: Vec<_> = (0..CLIENTS).map(|client| scene.new_key(&format!("client-{client}"))).collect();
    let hooks = Hooks::create(scene.nodes[0].site.port, &keys[0]);
    let (run, began) = (Run::new(scene.ports(), &keys), now());
    let (records, tails, unknown, faults, stall, arrived) = thread::scope(|scope| {
        let run = &run;
        let trader = |number| Trader::new(run, number, seed, PAUSE);
        let traders: Vec<_> =
            (0..CLIENTS).map(trader).map(|trader| scope.spawn(move || trader.trade())).collect();
        let tails: Vec<_> = (0..NODES).map(|node| scope.spawn(move || tail::follow(run, node))).collect();
        let folder = scene.nodes[0].site.folder.clone();
        let stall = scope.spawn(move || machine::longest_stall(run, &folder));
        let hooks = &hooks;
        let arrived = scope.spawn(move || hooks.follow(run));
        let faults = make_faults(&mut scene, run, seed, lasts);
        sleep(Duration::from_secs(1));
        run.is_over.store(true, Ordering::SeqCst);
        let mut records: Vec<_> = traders.into_iter().map(|trader| trader.join().unwrap()).collect();
        let unknown = verdict::settle(run, &mut records);
        run.is_settled.store(true, Ordering::SeqCst);
        let tails: Vec<_> = tails.into_iter().map(|tail| tail.join().unwrap()).collect();
        (records, tails, unknown, faults, stall.join().unwrap(), arrived.join().unwrap())
    });
    run.judge_times(ANSWER_MAX, stall);
    let events = verdict::check(&run, &records, &tails);
    hooks.check(&run, &arrived, &events);
    let orders_lost = run.orders_lost.load(Ordering::SeqCst);
    if faults.failovers_with_loss > 0 && orders_lost == 0 {
        run.violation("the failover has lost nothing, so it has shown nothing".to_owned());
    }
    let orders: usize = records.iter().map(|records| records.orders.len()).sum();
    let violations = run.violations.lock().unwrap();
    println!(
        "seed {seed}, {lasts:?}: {} requests, {orders} orders, {} events, {} webhooks received of which {} were repeated, the last one {:?} after the last change, \
         {orders_lost} orders lost by a failover with writes on all nodes again after {:?}, {} refused, {} without an answer, {unknown} \
         changes indeterminate at the end, slowest answer {:?}, {} after 2.2 s, stall of the \
         machine {stall:?}, at most {} connects in a second, {faults:?}, {} violations",
        run.requests.load(Ordering::SeqCst),
        events.len(),
        arrived.requests,
        arrived.repeated,
        arrived.behind,
        run.loss.get().map(|loss| loss.recovered),
        run.refused.load(Ordering::SeqCst),
        run.lost.load(Ordering::SeqCst),
        run.slowest.lock().unwrap(),
        run.late.lock().unwrap().len(),
        scene.proxy.most_connects_in_a_second(began),
        violations.len(),
    );
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Makes faults for a time, one after the other. At the end all nodes run, and the database.
fn make_faults(scene: &mut Scene, run: &Run, seed: u64, lasts: Duration) -> Faults {
    let mut random = Random(seed);
    let mut faults = Faults::default();
    let began = now();
    let (mut fifth, mut loses_changes) = (0, lasts >= FAILOVER_FROM);
    while began.elapsed() < lasts {
        let reached = usize::try_from(began.elapsed().as_millis() * 5 / lasts.as_millis()).unwrap();
        if let (Some(clock), true) = (&scene.nodes[WRONG_CLOCK].clock, reached > fifth) {
            fifth = reached.min(ERRORS.len() - 1);
            clock.set(ERRORS[fifth]);
            faults.clock_errors += u32::from(ERRORS[fifth] != "+0");
        }
        if loses_changes && began.elapsed() > lasts / 2 {
            loses_changes = false;
            faults.failovers_with_loss += u32::from(loss::fail_over(scene, run));
        }
        sleep(Duration::from_millis(PAUSE_MIN + random.below(PAUSE_MAX - PAUSE_MIN)));
        let short = Duration::from_millis(random.below(3_000));
        let node = usize::try_from(random.below(NODES as u64)).unwrap();
        match random.below(20) {
            0..8 => {
                run.disturb(node, || {
                    scene.nodes[node].kill();
                    sleep(short / 3);
                    scene.nodes[node].start();
                });
                faults.nodes_killed += 1;
            }
            8..10 => {
                run.disturb(node, || {
                    scene.nodes[node].site.signal("-STOP");
                    sleep(short);
                    scene.nodes[node].site.signal("-CONT");
                });
                faults.nodes_paused += 1;
            }
            10..13 => {
                scene.server.kill();
                sleep(short / 3);
                scene.server.start_again();
                faults.databases_killed += 1;
            }
            13..14 => {
                scene.server.stop(Stop::Fast);
                scene.server.start_again();
                faults.databases_restarted += 1;
            }
            14..15 => {
                scene.server.pause();
                sleep(short);
                scene.server.resume();
                faults.databases_paused += 1;
            }
            15..18 => {
                scene.proxy.cut_all();
                faults.connections_cut += 1;
            }
            _ => {
                scene.proxy.set_mode(Mode::Blackhole);
                sleep(short);
                scene.proxy.set_mode(Mode::Pass);
                faults.networks_silent += 1;
            }
        }
        let ended: Vec<_> =
            scene.nodes.iter_mut().filter_map(|node| node.has_ended().then(|| node.log())).collect();
        assert!(ended.is_empty(), "a node has ended by itself:\n{}", ended.join("\n"));
    }
    faults
}
