//! The trace of a run: a digest of all events in their order, and the last lines to read.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of lines in a failure's message.
const SHOWN: usize = 60;

/// The record of a run. Two runs of one seed must have the same digest.
pub(crate) struct Trace {
    digest: u64,
    events: u64,
    last: VecDeque<String>,
    /// Set if each line is printed as it comes.
    verbose: bool,
}

impl Trace {
    pub(crate) fn new(verbose: bool) -> Self {
        Self { digest: 0xCBF2_9CE4_8422_2325, events: 0, last: VecDeque::new(), verbose }
    }

    pub(crate) fn note(&mut self, at: Duration, what: &str) {
        let line = format!("{:>10}.{:03} {what}", at.as_secs(), at.subsec_millis());
        // FNV-1a is sufficient, because digests are only compared for equality.
        for byte in line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self.events += 1;
        if self.verbose {
            println!("{line}");
        }
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn tail(&self) -> String {
        self.last.iter().fold(String::new(), |tail, line| tail + line + "\n")
    }
}
