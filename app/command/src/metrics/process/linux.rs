//! Metrics of this process from Linux, under the names that Prometheus clients use.

use std::fmt;
use std::fs;

use petstore_platform::open_files_max;
use prometheus_client::registry::Unit;

use crate::metrics::Families;

/// The unit of processor time in /proc on every architecture: a hundredth of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// Statistics of the process. Unavailable values are zero.
#[derive(Debug, Default)]
pub(crate) struct Process {
    cpu_seconds: f64,
    /// Seconds since 1970.
    start_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    open_files: u64,
    open_files_max: u64,
    threads: u64,
}

impl Process {
    /// Reads the statistics from /proc.
    pub(crate) fn read() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The second field, the name, is in parentheses and may contain any character. So the text behind the last
        // parenthesis is split, and begins with the third field.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |number: usize| -> f64 {
            fields.get(number - 3).and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kibibytes = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            number.unwrap_or(0.0) * 1024.0
        };
        let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
        let boot = boot.lines().find_map(|line| line.strip_prefix("btime ")?.parse::<f64>().ok());
        Self {
            cpu_seconds: (field(14) + field(15)) / TICKS_A_SECOND,
            start_seconds: boot.map_or(0.0, |boot| boot + field(22) / TICKS_A_SECOND),
            resident_bytes: kibibytes("VmRSS"),
            virtual_bytes: kibibytes("VmSize"),
            open_files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64),
            open_files_max: open_files_max() as u64,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of threads"
            )]
            threads: field(20) as u64,
        }
    }

    pub(crate) fn encode(&self, families: &mut Families<'_>) -> fmt::Result {
        families.seconds_counter("process_cpu", "Processor time, user and system", self.cpu_seconds)?;
        let help = "Start time of the process, in seconds since 1970";
        families.gauge_of("process_start_time", help, &Unit::Seconds, self.start_seconds)?;
        families.gauge_of("process_resident_memory", "Resident memory", &Unit::Bytes, self.resident_bytes)?;
        families.gauge_of("process_virtual_memory", "Virtual memory", &Unit::Bytes, self.virtual_bytes)?;
        families.gauge("process_open_fds", "Open files", self.open_files)?;
        families.gauge("process_max_fds", "Files that may be open", self.open_files_max)?;
        families.gauge("process_threads", "Threads", self.threads)
    }
}
