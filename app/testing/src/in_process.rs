//! A petstore in the process of the test.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petstore_contract::{COMPACT, JSON, JSON_31, JSON_32, TOOLS, YAML, YAML_31, YAML_32};
use petstore_environment::{SystemClock, SystemEntropy};
use petstore_http::{Documents, Http, HttpSettings, Server, TokioTimer};
use petstore_memory::MemoryStore;
use petstore_ports::api::{Administration, InitialKey, Petstore as Api, Sandbox};
use petstore_ports::{Clock, Housekeeping, ImportError, Row, ShopText, ShopTextFault, StoreError};
use petstore_sandbox::{SandboxClock, ShopBaseline, StoreSandbox, demo_rows, fill_with_demo, fill_with_shop};
use petstore_service::{Policy, Ports, Service};
use petstore_shop_lines::ShopLines;
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use crate::builder::Builder;
use crate::client::{SandboxClient, StartedServer};
use crate::error::TestingError;

/// Interval of the periodic work of the service and of its store.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// A server in this process.
pub(crate) struct InProcess {
    server: Server,
    /// Ends the thread of the periodic work when it is dropped.
    _housekeeping: oneshot::Sender<()>,
}

/// Starts a server in this process.
pub(crate) async fn start(builder: Builder) -> Result<StartedServer<InProcess>, TestingError> {
    let epoch = SystemEntropy::number().map_err(store_failed)?;
    let store = Arc::new(MemoryStore::with_epoch(epoch));
    let lines = ShopLines::new(|| Box::new(MemoryStore::new()));
    let shop = fill(&builder, &store, &lines)?;
    let clock = Arc::new(SandboxClock::new(Arc::new(SystemClock)));
    let ports = Ports::of_one_store(
        Arc::clone(&store),
        Arc::clone(&clock) as Arc<dyn Clock>,
        Arc::new(SystemEntropy),
        Arc::new(TokioTimer::new()),
    );
    let policy = Policy { plans: builder.plans()?, ..Policy::DEFAULT };
    let service = Arc::new(Service::new(ports, policy));
    let sandbox = StoreSandbox {
        store: Arc::clone(&store) as _,
        clock: Arc::clone(&clock),
        entropy: Arc::new(SystemEntropy),
        baseline: ShopBaseline::new(shop.into(), Arc::clone(&store) as _, Arc::new(lines)),
    };
    let settings = HttpSettings {
        enforce_sunset: true,
        request_ids: SystemEntropy::number().map_err(store_failed)?,
        sandbox: Some(Arc::new(sandbox) as Arc<dyn Sandbox>),
        administration: Some(Arc::clone(&service) as Arc<dyn Administration>),
        ..HttpSettings::new(epoch, documents())
    };
    let http = Http::new(Arc::clone(&service) as Arc<dyn Api>, settings, false);
    let made = service.ensure_initial_key(None).await;
    let made = made.map_err(|failure| TestingError::Start(failure.report()))?;
    let InitialKey::Made(key) = made else {
        return Err(TestingError::Start("a new store has an account already".to_owned()));
    };
    let server = http.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), NonZeroUsize::MIN);
    let server = server.map_err(|error| TestingError::Start(format!("cannot listen: {error}")))?;
    let address = server.local_addr();
    let housekeeping = start_housekeeping(Arc::clone(&service), store, clock)?;
    Ok(StartedServer {
        url: format!("http://{address}/v1"),
        key: key.reveal().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sandbox: SandboxClient { address, program: None },
        server: InProcess { server, _housekeeping: housekeeping },
    })
}

/// Fills the store with the shop of the start, and returns its rows.
fn fill(builder: &Builder, store: &MemoryStore, lines: &ShopLines) -> Result<Vec<Row>, TestingError> {
    let Some(file) = &builder.shop else {
        let Some(pets) = builder.demo else { return Ok(vec![]) };
        fill_with_demo(store, pets).map_err(import_failed)?;
        return demo_rows(&MemoryStore::new(), pets).map_err(import_failed);
    };
    let refused = |why: String| TestingError::Start(format!("{}: {why}", file.display()));
    if builder.demo.is_some() {
        return Err(refused("a petstore has a shop or demo pets, and not both".to_owned()));
    }
    let text = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    let rows = lines.read(&text).map_err(|ShopTextFault(why)| refused(why))?;
    fill_with_shop(store, &rows).map_err(import_failed)?;
    Ok(rows)
}

/// The contract that is served, without a reference page.
fn documents() -> Documents {
    Documents {
        yaml: Bytes::from_static(YAML.as_bytes()),
        json: Bytes::from_static(JSON.as_bytes()),
        yaml_31: Bytes::from_static(YAML_31.as_bytes()),
        json_31: Bytes::from_static(JSON_31.as_bytes()),
        yaml_32: Bytes::from_static(YAML_32.as_bytes()),
        json_32: Bytes::from_static(JSON_32.as_bytes()),
        compact: Bytes::from_static(COMPACT.as_bytes()),
        tools: Bytes::from_static(TOOLS.as_bytes()),
        ..Documents::default()
    }
}

/// Does the periodic work on a separate thread, because the runtime of the first test may end before the petstore.
fn start_housekeeping(
    service: Arc<Service>,
    store: Arc<MemoryStore>,
    clock: Arc<SandboxClock>,
) -> Result<oneshot::Sender<()>, TestingError> {
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| TestingError::Start(format!("cannot start a runtime: {error}")))?;
    let work = async move {
        let mut ticks = tokio::time::interval(HOUSEKEEPING);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // A store in memory does not fail.
            service.record_bans().await;
            let _ = store.note_usage().await;
            let _ = store.drop_expired(clock.now()).await;
        }
    };
    let run = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = stopped => {}
                () = work => {}
            }
        });
    };
    std::thread::Builder::new()
        .name("petstore-periodic".to_owned())
        .spawn(run)
        .map_err(|error| TestingError::Start(format!("cannot start a thread: {error}")))?;
    Ok(stop)
}

impl InProcess {
    /// Sends the last answers.
    pub(crate) async fn stop(self) -> Result<(), TestingError> {
        let server = self.server;
        let stop = move || {
            server.drain();
            server.join()
        };
        match tokio::task::spawn_blocking(stop).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(TestingError::Stop("some answers were cut off at the end of the drain time".to_owned()))
            }
            Err(error) => Err(TestingError::Stop(error.to_string())),
        }
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("address", &self.server.local_addr()).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn store_failed(error: StoreError) -> TestingError {
    TestingError::Start(error.report())
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn import_failed(error: ImportError) -> TestingError {
    TestingError::Start(format!("demo: {}", error.report()))
}
