//! The row of a node.

use tokio::time::Instant;

/// The maximum length of a text in the row, in characters.
const TEXT_MAX: usize = 255;

/// The maximum length of the release, in characters.
const VERSION_MAX: usize = 100;

/// A node that joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// The release that the node runs, such as `1.0.0`.
    pub version: String,
    /// The name of the machine.
    pub host: String,
    /// The address at which the node serves.
    pub address: String,
    /// The settings that should be the same on all nodes, each as `name=value`.
    pub settings: Vec<String>,
}

/// The row of this node.
#[derive(Debug)]
pub(super) struct OwnRow {
    pub(super) id: String,
    pub(super) version: String,
    pub(super) host: String,
    pub(super) address: String,
    pub(super) settings: Vec<String>,
    since: Instant,
}

impl OwnRow {
    /// The row of a node that starts now. Texts that are too long for the table are cut.
    pub(super) fn new(node: NewNode, id: String) -> Self {
        let NewNode { version, host, address, settings } = node;
        Self {
            id,
            version: cut(&version, VERSION_MAX),
            host: cut(&host, TEXT_MAX),
            address: cut(&address, TEXT_MAX),
            settings,
            since: Instant::now(),
        }
    }

    /// The seconds since the node has started. The database subtracts them from its own time.
    pub(super) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }
}

fn cut(text: &str, length: usize) -> String {
    // A text column cannot hold the character NUL.
    text.chars().filter(|one| *one != '\0').take(length).collect()
}
