//! Connections to the database.

mod backoff;
mod channel_binding;
mod connector;
pub(crate) mod continuity;
mod counts;
mod driver;
mod host;
mod hosts;
mod names;
mod pace;
mod parameter;
pub(crate) mod pooling;
mod role_settings;
mod server_check;
mod session;
mod target;
mod tls_stream;
mod url;

pub(crate) use connector::{Connector, Role};
pub use pace::CONNECTIONS_A_SECOND_MAX;
pub(crate) use parameter::Parameter;
pub use server_check::Server;
pub(crate) use session::{Confirmed, Session, Settings, Statement};
pub use target::Target;
