//! Metrics of this process, under the names that Prometheus clients use.

#[cfg(all(target_os = "linux", not(petstore_portable)))]
#[path = "process/linux.rs"]
mod system;
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[path = "process/elsewhere.rs"]
mod system;

pub(super) use self::system::Process;
