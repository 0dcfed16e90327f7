use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use tokio::time::timeout;

use super::names::{KNOWN_NAMES_MAX, Pace, QUEUE_MAX, Turn, UNPROVEN_THREADS};
use super::*;

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(20);

fn account(number: u64) -> AccountId {
    AccountId::new(number).unwrap()
}

/// A resolver that answers at once, but names that begin with `slow`, and all names but `healthy` while `hangs` is set, only
/// when the returned sender lets it.
struct Planted {
    resolver: SystemResolver,
    hangs: Arc<AtomicBool>,
    release: mpsc::Sender<()>,
}

impl Planted {
    fn new() -> Self {
        let (release, released) = mpsc::channel();
        let released = Mutex::new(released);
        let hangs = Arc::new(AtomicBool::new(false));
        let is_hanging = Arc::clone(&hangs);
        let resolver = SystemResolver::with(move |name| {
            if name.starts_with("slow") || is_hanging.load(Ordering::SeqCst) && name != "healthy" {
                let _ = released.lock().recv();
            }
            Ok(vec![IpAddr::from([192, 0, 2, 1])])
        });
        Self { resolver, hangs, release }
    }

    async fn is_answered(&self, name: &str, of: u64, within: Duration) -> bool {
        timeout(within, self.resolver.resolve(name, Some(account(of))))
            .await
            .is_ok_and(|answer| answer.is_ok())
    }

    fn running(&self) -> usize {
        self.resolver.shared.state.lock().names.running()
    }

    /// Waits until this number of threads resolve a name.
    async fn until_running(&self, threads: usize) {
        let reached = async {
            while self.running() < threads {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(timeout(LONG, reached).await.is_ok(), "{} of {threads} threads", self.running());
    }

    fn pace(&self, name: &str) -> Pace {
        self.resolver.shared.state.lock().names.pace(name)
    }
}

#[tokio::test]
async fn names_that_were_quick_and_hang_leave_a_thread_to_the_next_account() {
    const NAMES: usize = 40;
    let planted = Planted::new();
    let name = |number: u64, index: usize| format!("host-{index}.of-{number}.example");
    assert!(planted.is_answered("healthy", 9, LONG).await);
    for number in 1..=8 {
        for index in 0..NAMES {
            assert!(planted.is_answered(&name(number, index), number, LONG).await);
        }
    }
    planted.hangs.store(true, Ordering::SeqCst);
    let (mut answers, mut free) = (Vec::new(), THREADS);
    for number in 1..=8 {
        for index in 0..NAMES {
            assert_eq!(planted.pace(&name(number, index)), Pace::Quick);
            answers.push(planted.resolver.resolve(&name(number, index), Some(account(number))));
        }
        // It gets threads while it has fewer than half as many as are free.
        let share = (0..THREADS).find(|held| 2 * held >= free - held).unwrap();
        free -= share;
        planted.until_running(THREADS - free).await;
        assert!(planted.is_answered("healthy", 9, LONG).await, "beside {number} accounts");
    }
    drop(answers);
    (0..8 * NAMES).for_each(|_| planted.release.send(()).unwrap());
    // They are known to be slow from then on.
    while planted.pace(&name(1, 0)) != Pace::Slow {
        assert!(planted.is_answered("healthy", 9, LONG).await);
    }
}

#[tokio::test]
async fn new_names_of_many_accounts_leave_a_thread_to_names_that_were_quick() {
    let planted = Planted::new();
    assert!(planted.is_answered("quick", 1_000, LONG).await);
    let answers: Vec<_> = (0..200_u64)
        .map(|number| planted.resolver.resolve(&format!("slow-{number}"), Some(account(number + 1))))
        .collect();
    for _ in 0..10 {
        assert!(planted.is_answered("quick", 1_000, LONG).await);
    }
    planted.until_running(UNPROVEN_THREADS).await;
    assert!(planted.is_answered("quick", 1_000, LONG).await);
    assert!(!planted.is_answered("another", 1_000, SHORT).await, "a new name waits for its turn");
    drop(answers);
    (0..UNPROVEN_THREADS).for_each(|_| planted.release.send(()).unwrap());
}

#[test]
fn new_and_slow_names_take_turns_and_so_do_accounts() {
    let mut names = Names::default();
    let mut callers = Vec::new();
    let answer = Ok(Vec::new());
    for name in ["slow-1", "slow-2"] {
        callers.push(names.ask(name, Some(account(1))).unwrap());
        let turn = names.next().unwrap();
        names.finish(&turn, Duration::from_millis(1_001), &answer);
        assert_eq!(names.pace(name), Pace::Slow, "its answer was late");
    }
    for name in ["slow-1", "new-1", "slow-2", "new-2"] {
        callers.push(names.ask(name, Some(account(1))).unwrap());
    }
    for name in ["new-3", "new-4", "new-5"] {
        callers.push(names.ask(name, Some(account(2))).unwrap());
    }
    let mut order = Vec::new();
    while let Some(turn) = names.next() {
        order.push(turn.name.to_string());
        names.finish(&turn, Duration::ZERO, &answer);
    }
    assert_eq!(order, ["slow-1", "new-1", "slow-2", "new-3", "new-2", "new-4", "new-5"]);
    assert!(
        order.iter().all(|name| names.pace(name) == Pace::Quick),
        "a name that is answered in time is quick again"
    );
}

#[test]
fn a_name_of_two_accounts_is_resolved_in_the_turn_of_the_first_that_has_a_share() {
    let mut names = Names::default();
    let hanging: Vec<_> =
        (0..THREADS).map(|index| names.ask(&format!("host-{index}"), Some(account(1))).unwrap()).collect();
    let turns: Vec<Turn> = std::iter::from_fn(|| names.next()).collect();
    assert!(
        (THREADS / 3..THREADS / 2).contains(&turns.len()),
        "an account alone has a third: {}",
        turns.len()
    );
    let first = names.ask("shared", Some(account(1))).unwrap();
    let mut second = names.ask("shared", Some(account(2))).unwrap();
    let turn = names.next().unwrap();
    assert_eq!((&*turn.name, turn.asker), ("shared", Some(account(2))));
    let mut third = names.ask("shared", Some(account(3))).unwrap();
    assert!(names.next().is_none(), "its answer is on its way");
    names.finish(&turn, Duration::ZERO, &Ok(Vec::new()));
    assert!(second.try_recv().is_ok() && third.try_recv().is_ok());
    drop((first, hanging));
    for turn in &turns {
        names.finish(turn, Duration::ZERO, &Ok(Vec::new()));
    }
    assert!(names.next().is_none(), "no caller waits for the others");
    assert_eq!((names.running(), names.pace("host-0")), (0, Pace::Slow));
}

#[test]
fn of_too_many_known_names_the_oldest_is_forgotten() {
    let mut names = Names::default();
    let answer = |names: &mut Names, number: usize| {
        let caller = names.ask(&format!("name-{number}"), None).unwrap();
        let turn = names.next().unwrap();
        names.finish(&turn, Duration::ZERO, &Ok(Vec::new()));
        drop(caller);
    };
    (0..KNOWN_NAMES_MAX).for_each(|number| answer(&mut names, number));
    answer(&mut names, 0);
    answer(&mut names, KNOWN_NAMES_MAX);
    assert_eq!(names.known_quick(), KNOWN_NAMES_MAX);
    assert_eq!(["name-0", "name-1"].map(|name| names.pace(name)), [Pace::Quick, Pace::New]);
}

#[tokio::test]
async fn a_name_that_many_ask_for_is_resolved_once() {
    let planted = Planted::new();
    let answers: Vec<_> =
        (0..100_u64).map(|number| planted.resolver.resolve("slow", Some(account(number % 3 + 1)))).collect();
    planted.release.send(()).unwrap();
    for answer in answers {
        assert_eq!(timeout(LONG, answer).await.unwrap().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_queue_and_the_threads_are_bounded_and_abandoned_names_make_room() {
    let planted = Planted::new();
    let ask =
        |index: usize| planted.resolver.resolve(&format!("slow-{index}"), Some(account(index as u64 + 1)));
    let hanging: Vec<_> = (0..UNPROVEN_THREADS).map(ask).collect();
    planted.until_running(UNPROVEN_THREADS).await;
    let answers: Vec<_> = (UNPROVEN_THREADS..UNPROVEN_THREADS + QUEUE_MAX).map(ask).collect();
    let refused = timeout(LONG, planted.resolver.resolve("one-more", None)).await.unwrap();
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!(planted.resolver.shared.state.lock().threads <= THREADS);
    drop(answers);
    assert!(!planted.is_answered("one-more", 1, SHORT).await, "it is taken, and waits for its turn");
    drop(hanging);
    (0..UNPROVEN_THREADS).for_each(|_| planted.release.send(()).unwrap());
    // Names that nothing waits for any more are not resolved.
    assert!(planted.is_answered("quick", 1, LONG).await);
}
