//! A planned cut of a connection.

use super::messages::{Side, begins_transaction};

/// A cut of a connection at a message of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The sender of the message.
    pub side: Side,
    /// The number of the message among those of its sender, from 1. The message that begins the transaction is the
    /// first of the node.
    pub message: u32,
    /// The place and the kind of the cut.
    pub how: How,
}

/// The place and the kind of a cut. In all cases the node gets no further byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The message is not passed on, and the connection ends.
    Before,
    /// Half of the message is passed on, and the connection ends.
    Within,
    /// The message is passed on, and the connection ends.
    After,
    /// The message is passed on, and the connection stays open without any further answer.
    Silence,
}

/// A cut that was not made yet.
pub(crate) struct Plan {
    cut: Cut,
    /// The connection that began a transaction first.
    connection: Option<u64>,
    of_node: u32,
    of_server: u32,
}

impl Plan {
    pub(super) fn of(cut: Cut) -> Self {
        Self { cut, connection: None, of_node: 0, of_server: 0 }
    }

    /// Counts a message. Returns the cut if it is due at this message.
    pub(super) fn meets(&mut self, connection: u64, side: Side, message: &[u8]) -> Option<How> {
        if self.connection.is_none() && side == Side::Node && begins_transaction(message) {
            self.connection = Some(connection);
        }
        if self.connection != Some(connection) {
            return None;
        }
        let count = match side {
            Side::Node => &mut self.of_node,
            Side::Server => &mut self.of_server,
        };
        *count += 1;
        (side == self.cut.side && *count == self.cut.message).then_some(self.cut.how)
    }
}
