//! Objects of runtimes, and connections that are replaced.

use std::sync::atomic::{AtomicUsize, Ordering};

use petstore_remote_connection::{ByRuntime, Replaceable};
use tokio::runtime::Builder;

#[test]
fn each_runtime_has_its_own_object_up_to_the_bound() {
    const BOUND: usize = 256;
    let runtime = || Builder::new_current_thread().build().unwrap();
    let background = runtime();
    let (all, made) = (ByRuntime::new(background.handle().clone()), AtomicUsize::new(0));
    let get = || all.get(|| made.fetch_add(1, Ordering::Relaxed));
    let outside = get();
    assert_eq!((*outside.0, outside.1.id()), (0, background.handle().id()));
    let runtimes: Vec<_> = (0..BOUND).map(|_| runtime()).collect();
    for (place, runtime) in runtimes.iter().enumerate() {
        let (object, driver) = runtime.block_on(async { get() });
        let is_last = place + 1 == BOUND;
        assert_eq!(*object, if is_last { 0 } else { place + 1 });
        assert_eq!(driver.id() == background.handle().id(), is_last);
    }
    assert_eq!(*runtimes[0].block_on(async { get() }).0, 1);
}

#[tokio::test]
async fn one_caller_opens_and_a_failed_connection_is_replaced_once() {
    let link = Replaceable::<u32>::default();
    let any = |_: &u32| true;
    let open = |number: u32| async move { Ok::<_, ()>(number) };
    let (one, other) = tokio::join!(link.get(any, open(1)), link.get(any, open(2)));
    assert_eq!((*one.clone().unwrap(), *other.unwrap()), (1, 1));
    let turn = link.turn().unwrap();
    assert!(link.turn().is_none());
    drop(turn);
    let first = one.unwrap();
    link.discard(&first);
    assert_eq!(*link.get(any, open(3)).await.unwrap(), 3);
    link.discard(&first);
    assert_eq!(link.usable(any).as_deref(), Some(&3), "it was replaced before");
    assert_eq!(*link.get(|number| *number > 3, open(4)).await.unwrap(), 4);
    link.clear();
    assert_eq!(link.get(any, async { Err("refused") }).await, Err("refused"));
}
