//! Settings, and small modules that belong to no other layer.

pub(crate) mod authority;
pub(crate) mod body_copy;
pub(crate) mod drain;
pub(crate) mod epoch;
pub(crate) mod idle_time;
pub(crate) mod mix;
pub(crate) mod observe;
pub(crate) mod page_file;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod system;
pub(crate) mod timer;
