//! A sandbox in this process, in memory, on a free port of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petstore_http::{Http, HttpSettings, JournalBounds, Server};
use petstore_ports::Clock;
use petstore_ports::api::{Administration, Petstore};
use petstore_service::{Policy, Service};
use tokio::time::MissedTickBehavior;

use crate::console;
use crate::environment::{SystemClock, SystemEntropy};
use crate::failure::Failure;
use crate::openapi;
use crate::progress::unwatched;
use crate::sandbox::{FirstShop, TestControls};
use crate::store::Backend;

/// The number of pets of the demonstration.
pub(super) const DEMO: u32 = 100;

/// The number of requests of one scenario that the journal keeps, and their size in bytes.
const JOURNAL: JournalBounds = JournalBounds { records: 10_000, bytes: 64 << 20, ..JournalBounds::DEFAULT };

/// The number of serving threads. A client that is examined sends few requests at a time.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// The interval of the work of the service and of its store besides requests.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// A running sandbox.
pub(super) struct OwnSandbox {
    server: Server,
}

impl OwnSandbox {
    /// Starts the sandbox with the shop of a file, or with the demonstration. Its periodic work runs on the runtime of the
    /// caller.
    pub(super) fn start(shop: Option<&Path>) -> Result<Self, Failure> {
        let shop = match shop {
            Some(file) => FirstShop::read(file, "--sandbox-shop", &*unwatched())?,
            None => FirstShop::Demo(DEMO),
        };
        let epoch = SystemEntropy::number().map_err(|error| Failure::because(error.report()))?;
        let backend = Arc::new(Backend::in_memory(epoch));
        shop.fill(&backend).map_err(|error| shop.failed(&error))?;
        let machine = Arc::new(SystemClock) as Arc<dyn Clock>;
        let controls = TestControls::of_sandbox(&backend, &machine, shop.rows(&unwatched())?);
        let clock = controls.clock;
        let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
        let service = Arc::new(Service::new(ports, Policy::DEFAULT));
        let demo = matches!(shop, FirstShop::Demo(_)).then_some(DEMO);
        let mut documents = openapi::documents(openapi::BASE_PATH);
        documents.console = console::files_of(openapi::BASE_PATH, demo, false);
        let settings = HttpSettings {
            enforce_sunset: true,
            journal: Some(JOURNAL),
            request_ids: SystemEntropy::number().map_err(|error| Failure::because(error.report()))?,
            sandbox: controls.sandbox,
            administration: Some(Arc::clone(&service) as Arc<dyn Administration>),
            ..HttpSettings::new(epoch, documents)
        };
        let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, false);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = http.listen(address, THREADS);
        let server =
            server.map_err(|error| Failure::because(format!("cannot listen on {address}: {error}")))?;
        tokio::spawn(keep_house(service, backend, clock));
        Ok(Self { server })
    }

    /// The address of the API and of the sandbox.
    pub(super) fn address(&self) -> SocketAddr {
        self.server.local_addr()
    }
}

/// Does the periodic work of the service and of its store, for as long as the process lives. A store in memory does not
/// fail.
async fn keep_house(service: Arc<Service>, backend: Arc<Backend>, clock: Arc<dyn Clock>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        service.record_bans().await;
        let _ = backend.housekeeping().note_usage().await;
        let _ = backend.housekeeping().drop_expired(clock.now()).await;
    }
}
