//! Connections to the database.

mod connector;
mod session;

pub(crate) use connector::{Connector, Role};
pub(crate) use session::Session;
