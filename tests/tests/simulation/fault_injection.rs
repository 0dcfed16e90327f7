//! Fault injection: power cuts, restarts, disk failures, clock steps.

use std::rc::Rc;
use std::time::Duration;

use petstore_tests::{Fault, Random};
use tokio::time::{sleep, timeout};

use crate::oracle::Ending;
use crate::profile::exponential;
use crate::world::World;

/// The longest wait for the moment at which a fault is most likely to do harm.
const PATIENCE: Duration = Duration::from_mins(2);

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Ends processes, and starts them again.
pub(crate) async fn end_processes(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(exponential(&mut random, between)).await;
        let ending = if random.once_in(3) { Ending::Stop } else { Ending::Crash };
        match ending {
            Ending::Crash => {
                // Most crashes happen at moments at which much data could be lost: after a fault of the disk, when a
                // batch may be in doubt, or right after a commit.
                if random.once_in(3) {
                    let fault = *random.pick(&[Fault::Before, Fault::After, Fault::Lasting]);
                    fail_disk(&world, &mut random, fault).await;
                    sleep(Duration::from_millis(u64::from(random.below(1_500)))).await;
                } else if random.once_in(2) {
                    let _ = timeout(PATIENCE, world.environment.oracle.commits.notified()).await;
                    sleep(Duration::from_micros(u64::from(random.below(30_000)))).await;
                }
                world.crash();
            }
            Ending::Stop => world.stop().await,
        }
        sleep(exponential(&mut random, Duration::from_secs(2))).await;
        world.start(ending);
    }
}

/// Makes a call of the disk fail. Mostly this is a call that writes a change, sometimes it is any call.
async fn fail_disk(world: &World, random: &mut Random, fault: Fault) {
    if random.once_in(3) {
        return world.fail_disk(u64::from(1 + random.below(6)), fault);
    }
    let _ = timeout(PATIENCE, world.environment.oracle.changes.notified()).await;
    world.fail_disk(1, fault);
}

/// Makes the disk fail and hang.
pub(crate) async fn fail_disks(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(exponential(&mut random, between)).await;
        match random.below(5) {
            0 => {
                world.environment.oracle.note("the disk hangs");
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

/// Steps the clock: back or ahead by seconds, an hour or a day, or to shortly before the end of a minute or a day.
pub(crate) async fn step_clocks(world: Rc<World>, mut random: Random, between: Duration) {
    loop {
        sleep(exponential(&mut random, between)).await;
        let clock = &world.environment.clock;
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
        world.environment.oracle.clock_stepped(step);
        clock.step(step);
    }
}
