//! The petstore over HTTP/1.1, and with a certificate over TLS and HTTP/2, on bare hyper.
//!
//! A driving adapter: it turns requests into calls of [`petstore_ports::api::Petstore`] and what comes back into
//! answers. It decides nothing about pets. What is its own: one runtime for each core, deadlines and bounds on
//! everything that comes from outside, one gate in front of every operation, a panic barrier, an orderly end.
//!
//! ```no_run
//! # use std::{net::SocketAddr, num::NonZeroUsize, sync::Arc};
//! use petstore_http::{Documents, Http, HttpSettings};
//! use petstore_ports::api::Petstore;
//!
//! /// `epoch` is the store's, the same for each of its servers: with a journal it is in the header, a store that lasts
//! /// keeps it beside its data, and for one that dies with the process it is any random number.
//! fn serve(petstore: Arc<dyn Petstore>, epoch: u64) -> std::io::Result<()> {
//!     // The contract, for whoever asks for it, and no reference page.
//!     let documents = Documents { yaml: "openapi: 3.0.3".into(), json: "{}".into(), page: Arc::new([]) };
//!     let http = Http::new(petstore, HttpSettings::new(epoch, documents), false);
//!     let address = SocketAddr::from(([127, 0, 0, 1], 8080));
//!     let server = http.listen(address, NonZeroUsize::MIN)?;
//!     println!("serving http://{}", server.local_addr());
//!     server.join();
//!     Ok(())
//! }
//! ```

mod activity;
mod alarm;
mod answer;
mod app;
mod arena;
mod authority;
mod beside;
mod body;
mod closing;
mod connection;
mod connections;
mod cors;
mod credentials;
mod drain;
mod error;
mod exchange;
mod forms;
mod forwarded;
mod gate;
mod handlers;
mod head;
mod host;
mod http2;
mod idle;
mod lines;
mod load;
mod local;
mod mailbox;
mod observe;
mod ops;
mod outbox;
mod packer;
mod read_by;
mod reference;
mod route;
mod sandbox;
mod seal;
mod server;
mod settings;
mod socket;
mod tally;
mod tcp;
mod tls;
mod visit;
#[cfg(test)]
mod wakes;
mod wire;
mod worker;

#[cfg(test)]
#[path = "../../../tests/fuzz/woven.rs"]
mod woven;

pub use app::Http;
pub use authority::{HostName, Origin};
pub use beside::is_reserved;
pub use idle::Idle;
pub use local::LocalServer;
pub use observe::{Exchange, Exposition, Observer};
pub use reference::PageFile;
pub use rustls;
pub use server::{Endpoint, Server};
pub use settings::{Bounds, Cors, Deadlines, Documents, HttpSettings, Network};
pub use tally::{Decisions, Figures, Latencies, Requests};
