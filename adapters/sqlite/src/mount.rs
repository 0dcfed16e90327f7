//! Data files that are mount points, which only Linux tells.

#[cfg(all(target_os = "linux", not(petstore_portable)))]
#[path = "mount/linux.rs"]
mod system;
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[path = "mount/elsewhere.rs"]
mod system;

pub(crate) use self::system::check;
