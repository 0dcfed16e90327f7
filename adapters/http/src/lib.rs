//! The petstore over HTTP/1.1, and with a certificate over TLS and HTTP/2, on bare hyper.
//!
//! The crate is a driving adapter: it turns requests into calls of [`petstore_ports::api::Petstore`] and results into
//! answers. It contains no rule about pets. It does contain the transport: one runtime for each core, deadlines and
//! bounds on all input, one gate in front of every operation, a panic barrier, and a graceful shutdown.
//!
//! ```no_run
//! # use std::{net::SocketAddr, num::NonZeroUsize, sync::Arc};
//! use petstore_http::{Documents, Http, HttpSettings};
//! use petstore_ports::api::Petstore;
//!
//! /// `epoch` identifies the store and is the same for all of its servers. A durable store keeps it with its data; a
//! /// store that ends with the process uses a random number.
//! fn serve(petstore: Arc<dyn Petstore>, epoch: u64) -> std::io::Result<()> {
//!     // The contract is served, and no reference page.
//!     let documents = Documents { yaml: "openapi: 3.0.3".into(), json: "{}".into(), ..Documents::default() };
//!     let http = Http::new(petstore, HttpSettings::new(epoch, documents), false);
//!     let address = SocketAddr::from(([127, 0, 0, 1], 8080));
//!     let server = http.listen(address, NonZeroUsize::MIN)?;
//!     println!("serving http://{}", server.local_addr());
//!     server.join();
//!     Ok(())
//! }
//! ```

mod base;
mod connection;
mod counts;
mod exchange;
mod http;
mod io;
mod listen;
mod response;
mod sandbox;
mod thread;
#[cfg(test)]
mod wake_counter;
mod wire;

#[cfg(test)]
#[path = "../../../tests/fuzz/woven.rs"]
mod woven;

pub use base::authority::{HostName, Origin};
pub use base::epoch::Epoch;
pub use base::idle_time::IdleTime;
pub use base::observe::{Exchange, Exposition, Observer};
pub use base::page_file::PageFile;
pub use base::settings::{Bounds, Cors, Deadlines, Documents, HttpSettings, Network, QuotaForm};
pub use base::stats::{Decisions, Latencies, Requests, TransportStats};
pub use base::timer::TokioTimer;
pub use http::Http;
pub use listen::local::LocalServer;
pub use listen::server::{Endpoint, Server};
pub use petstore_request_journal::JournalBounds;
pub use rustls;
pub use wire::builtin_routes::is_reserved;
pub use wire::{JsonEvents, event_json};
