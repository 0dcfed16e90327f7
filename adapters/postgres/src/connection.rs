//! Connections to the database.

mod backoff;
mod channel_binding;
mod connector;
mod counts;
mod hosts;
mod server_check;
mod session;
mod target;
mod tls;
mod tls_stream;
mod url;

pub(crate) use connector::{Connector, Role};
pub use server_check::Server;
pub(crate) use session::Session;
pub use target::{Roots, Target, TargetError};
