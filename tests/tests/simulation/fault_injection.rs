//! What befalls the machine: it loses power, is restarted, its disk fails, its clock steps.

use std::rc::Rc;
use std::time::Duration;

use petstore_tests::{Fault, Random};
use tokio::time::{sleep, timeout};

use crate::book::Over;
use crate::temper::around;
use crate::world::World;

/// How long a trouble waits for the moment at which it does most harm.
const PATIENCE: Duration = Duration::from_mins(2);

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Ends processes, and begins them again.
pub(crate) async fn end_processes(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(around(&mut random, between)).await;
        let over = if random.once_in(3) { Over::Stop } else { Over::Crash };
        match over {
            Over::Crash => {
                // At the moments at which most can be lost: after a fault, when much is in doubt, and right after a
                // commit, when that is all that is there.
                if random.once_in(3) {
                    let fault = *random.pick(&[Fault::Before, Fault::After, Fault::Lasting]);
                    fail_disk(&world, &mut random, fault).await;
                    sleep(Duration::from_millis(u64::from(random.below(1_500)))).await;
                } else if random.once_in(2) {
                    let _ = timeout(PATIENCE, world.around.book.commits.notified()).await;
                    sleep(Duration::from_micros(u64::from(random.below(30_000)))).await;
                }
                world.crash();
            }
            Over::Stop => world.stop().await,
        }
        sleep(around(&mut random, Duration::from_secs(2))).await;
        world.start(over);
    }
}

/// Lets a call of the disk fail: one that writes a change, or any.
async fn fail_disk(world: &World, random: &mut Random, fault: Fault) {
    if random.once_in(3) {
        return world.fail_disk(u64::from(1 + random.below(6)), fault);
    }
    let _ = timeout(PATIENCE, world.around.book.changes.notified()).await;
    world.fail_disk(1, fault);
}

/// Lets the disk fail and hang.
pub(crate) async fn fail_disks(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(around(&mut random, between)).await;
        match random.below(5) {
            0 => {
                world.around.book.note("the disk hangs");
                world.hang_disk(Duration::from_millis(u64::from(random.below(12_000))));
            }
            1 => {
                fail_disk(&world, &mut random, Fault::Lasting).await;
                sleep(Duration::from_millis(u64::from(random.below(15_000)))).await;
                world.heal_disk();
            }
            2 => fail_disk(&world, &mut random, Fault::Before).await,
            _ => fail_disk(&world, &mut random, Fault::After).await,
        }
    }
}

/// Steps the clock: back, by some seconds or an hour; to shortly before a minute or a day ends; a day ahead.
pub(crate) async fn step_clocks(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(around(&mut random, between)).await;
        let clock = &world.around.clock;
        let to_the_end = |of: i64| of - clock.millis().rem_euclid(of) - 2 * SECOND;
        let step = match random.below(8) {
            0 => -HOUR,
            1 => -DAY,
            2 => -random.within(1, 90) * SECOND,
            3 => random.within(1, 90) * SECOND,
            4 => to_the_end(60 * SECOND),
            5 => to_the_end(DAY),
            6 => HOUR,
            _ => DAY,
        };
        world.around.book.note(&format!("the clock steps by {step} ms"));
        clock.step(step);
    }
}
