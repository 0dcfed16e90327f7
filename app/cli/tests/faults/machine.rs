//! The stalls of the machine, which the time limits allow for.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use crate::load::Run;
use crate::now;

/// The pause between two measurements.
const PAUSE: Duration = Duration::from_millis(20);

/// Writes small files durably until the run is over. Returns the longest time that one write took: other programs use the
/// machine as well, and a database that is sound answers no faster than its disk and its processors.
pub(crate) fn longest_stall(run: &Run, folder: &std::path::Path) -> Duration {
    let path = folder.join("stalls");
    let mut longest = Duration::ZERO;
    while !run.is_settled.load(Ordering::SeqCst) {
        let began = now();
        sleep(PAUSE);
        let mut file = File::create(&path).expect("the folder of a node takes a file");
        file.write_all(&[0; 4_096]).and_then(|()| file.sync_data()).expect("the file can be written");
        longest = longest.max(began.elapsed().saturating_sub(PAUSE));
    }
    longest
}
