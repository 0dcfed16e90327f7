//! A run with a fault: clients trade before it, during it and after it.

use std::sync::atomic::Ordering;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::load::{ANSWER_MAX, Run};
use crate::now;
use crate::scene::{Node, Scene};
use crate::trader::{PAUSE, Trader};
use crate::{machine, tail, verdict};

/// The number of clients.
const CLIENTS: usize = 6;

/// The time with load before the fault, and after its end.
const HEALTHY: Duration = Duration::from_secs(1);

/// The time within which each node writes again after the cause is gone.
pub(crate) const RECOVERY_MAX: Duration = Duration::from_secs(5);

/// The time for which the test waits for it.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The maximum number of attempts to connect within a second, of each node.
pub(crate) const CONNECTS_MAX: usize = petstore_postgres::CONNECTIONS_A_SECOND_MAX as usize;

/// The result of a run.
pub(crate) struct Report {
    /// The time from the end of the fault until each node has written.
    pub(crate) recovered: Duration,
    /// The answers with status 503 during the fault.
    pub(crate) refused: u64,
}

/// Returns how long a fault lasts: `PETSTORE_FAULT_SECONDS`, or this number of seconds.
pub(crate) fn fault_time(seconds: u64) -> Duration {
    Duration::from_secs(number("PETSTORE_FAULT_SECONDS").unwrap_or(seconds))
}

/// Returns how many nodes run: `PETSTORE_FAULT_NODES`, or two.
pub(crate) fn node_count() -> usize {
    number("PETSTORE_FAULT_NODES").and_then(|count| usize::try_from(count).ok()).unwrap_or(2)
}

/// Returns the number in a variable of the environment.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Lets clients trade on all nodes while `begin` makes a fault and, after a time, `end` removes its cause. Panics with all
/// violations of the contract that were found.
#[track_caller]
pub(crate) fn run(
    scene: &mut Scene,
    lasts: Duration,
    begin: impl FnOnce(&Scene),
    end: impl FnOnce(&Scene),
) -> Report {
    let before = scene.process_ids();
    let run = Run::new(scene.ports(), std::slice::from_ref(&scene.key));
    let since = now();
    let (records, tails, unknown, report, stall) = thread::scope(|scope| {
        let run = &run;
        let traders: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || Trader::new(run, number, 0, PAUSE).trade()))
            .collect();
        let tails: Vec<_> =
            (0..run.ports.len()).map(|node| scope.spawn(move || tail::follow(run, node))).collect();
        let folder = scene.nodes[0].site.folder.clone();
        let stall = scope.spawn(move || machine::longest_stall(run, &folder));
        sleep(HEALTHY);
        let refused = run.refused.load(Ordering::SeqCst);
        begin(scene);
        sleep(lasts);
        let refused = run.refused.load(Ordering::SeqCst) - refused;
        end(scene);
        let ended = now();
        let recovered = wait_for_writes(run, ended);
        sleep(HEALTHY);
        run.is_over.store(true, Ordering::SeqCst);
        let mut records: Vec<_> = traders.into_iter().map(|trader| trader.join().unwrap()).collect();
        let unknown = verdict::settle(run, &mut records);
        run.is_settled.store(true, Ordering::SeqCst);
        let tails: Vec<_> = tails.into_iter().map(|tail| tail.join().unwrap()).collect();
        (records, tails, unknown, Report { recovered, refused }, stall.join().unwrap())
    });
    verdict::check(&run, &records, &tails);
    let connects = scene.proxy.most_connects_in_a_second(since);
    if connects > CONNECTS_MAX * scene.nodes.len() {
        run.violation(format!("{connects} attempts to connect in a second"));
    }
    run.judge_times(ANSWER_MAX, stall);
    if report.recovered > RECOVERY_MAX + stall * 4 {
        run.violation(format!("the nodes write again after {:?}", report.recovered));
    }
    if scene.process_ids() != before {
        run.violation("a node has ended".to_owned());
    }
    println!(
        "{} requests, {} refused, {} of them during the fault, {unknown} settled, slowest {:?}, writes again after \
         {:?}, at most {connects} connects in a second, stall of the machine {stall:?}",
        run.requests.load(Ordering::SeqCst),
        run.refused.load(Ordering::SeqCst),
        report.refused,
        run.slowest.lock().unwrap(),
        report.recovered,
    );
    let violations = run.violations.lock().unwrap();
    let logs = || scene.nodes.iter().map(Node::log).collect::<Vec<_>>().join("\n--- next node\n");
    assert!(violations.is_empty(), "{} violations:\n{}\n{}", violations.len(), violations.join("\n"), logs());
    report
}

/// Waits until each node has written. Returns the time since the fault has ended.
pub(crate) fn wait_for_writes(run: &Run, ended: Instant) -> Duration {
    while !(0..run.ports.len()).all(|node| run.has_written(node, ended)) {
        if ended.elapsed() > WAIT_MAX {
            run.violation(format!("a node does not write within {WAIT_MAX:?}"));
            break;
        }
        sleep(Duration::from_millis(10));
    }
    ended.elapsed()
}
