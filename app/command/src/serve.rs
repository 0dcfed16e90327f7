//! `petstore serve`: puts the parts together and runs them until a signal comes.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::ApiKey;
use petstore_http::{Endpoint, Http, HttpSettings, Idle, Server};
use petstore_memory::MemoryStore;
use petstore_ports::api::{Administration, Failure as Refused, InitialKey, Petstore};
use petstore_ports::{Clock, Entropy, Housekeeping};
use petstore_service::{Ports, Service};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin::{AdminSocket, Bulk, Desk};
use crate::demo;
use crate::environment::{SystemClock, SystemEntropy};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::openapi;
use crate::reload::{Live, Reloader};
use crate::sandbox::{self, Bench};
use crate::settings::{INITIAL_KEY_VARIABLE, Loaded, LogLevel, ServeArgs};
use crate::store::OpenStore;
use crate::systemd::{self, Supervisor};
use crate::tls::{self, Certificate};
use crate::{Failure, print, single_threaded};

/// How often what has expired is dropped.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// Serves until a signal comes; a second one ends the process at once.
pub(crate) fn serve(loaded: &Loaded, arguments: Vec<OsString>, warnings: &[String]) -> Result<(), Failure> {
    let args = loaded.cli.serve_args().ok_or_else(|| Failure::usage("there is nothing to serve"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let log = Arc::new(Log::new(args, Arc::clone(&clock)));
    for warning in warnings {
        log.warn(warning);
    }
    // The transport catches panics and counts them; their payload, which may hold anything, is nobody's business.
    let hook = Arc::clone(&log);
    let wants_panics = args.log != LogLevel::Off;
    std::panic::set_hook(Box::new(move |_| {
        if wants_panics {
            hook.complain("a panic was caught");
        }
    }));
    let runtime = single_threaded()?;
    let served = runtime.block_on(run(args, loaded, arguments, clock, &log));
    log.close();
    // A second signal does not wait for the threads that are still draining.
    runtime.shutdown_background();
    served
}

async fn run(
    args: &ServeArgs,
    loaded: &Loaded,
    arguments: Vec<OsString>,
    machine: Arc<dyn Clock>,
    log: &Arc<Log>,
) -> Result<(), Failure> {
    // Signals first: one that comes during the start is not lost.
    let mut signals = Signals::listen().map_err(|error| Failure::because(error.to_string()))?;
    let supervisor = Arc::new(Supervisor::find());
    // Before the data is opened: a wrong certificate is told at once.
    let certificate = tls::Files::of(args).map(Certificate::read).transpose().map_err(|why| {
        Failure::usage(format!("{} and {}: {why}", loaded.named("tls-cert"), loaded.named("tls-key")))
    })?;
    let idle = Idle::default();
    let OpenStore { store, epoch, commits } =
        OpenStore::open(&args.db, "stop that one, or name another --db", idle.clone())?;
    if args.sandbox {
        sandbox::claim(&args.db, &store, &|key| loaded.named(key))?;
    } else {
        sandbox::disclaim(&args.db)?;
    }
    let path = args.admin_socket();
    let socket = AdminSocket::open(&path).map_err(|error| {
        let hint = if error.kind() == io::ErrorKind::InvalidInput {
            "; a socket's path is short: name another one with --admin-socket"
        } else {
            ""
        };
        Failure::because(format!("the admin socket {} cannot be opened: {error}{hint}", path.display()))
    })?;
    let Bench { clock, sandbox } = Bench::of(args, &store, &machine).await?;
    let ports = Ports::of_one_store(Arc::clone(&store), Arc::clone(&clock), Arc::new(SystemEntropy));
    let service = Arc::new(Service::new(ports, args.policy()));

    if let Some(pets) = args.demo {
        let is_filled = demo::fill(&service, pets).await.map_err(Failure::because)?;
        if !is_filled {
            log.say("demo: the store is not empty, and stays as it is");
        }
    }
    let metrics = Metrics {
        store: Arc::clone(&store),
        service: Arc::clone(&service),
        commits,
        log: Arc::clone(log),
        clock: Arc::clone(&clock),
    };
    let mut settings = HttpSettings {
        observer: log.observer(),
        idle,
        exposition: Some(Arc::new(metrics)),
        sandbox,
        ..args.http(epoch)
    };
    let mut endpoints = systemd::inherited()?.into_iter();
    let public = endpoints.next().unwrap_or(args.listen.into());
    let ops = endpoints.next().or(args.ops_listen.map(Endpoint::from));
    if args.sandbox {
        let origin = sandbox::origin(&public, ops.as_ref(), certificate.is_some());
        settings.documents.page = openapi::page_of_sandbox(&origin, ops.is_none());
    }
    let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, ops.is_some());
    let servers = listen(loaded, args.threads(), &http, public, ops, certificate.as_ref())?;
    // Only now: a server that cannot listen must not have spent the one chance to show its key.
    hand_out_initial_key(&*service, args.initial_key_file.as_deref()).await?;

    let scheme = if certificate.is_some() { "https" } else { "http" };
    let live = Live { service: Arc::clone(&service), http: http.clone(), certificate };
    let reloader = Arc::new(Reloader::new(arguments, loaded.in_force(), live, Arc::clone(&supervisor)));
    let desk = Desk {
        reloader: Some(Arc::clone(&reloader)),
        administration: Arc::clone(&service) as Arc<dyn Administration>,
        clock: Arc::clone(&clock),
        bulk: Arc::new(Bulk { store: Arc::clone(&store), db: args.db.clone() }),
    };
    tokio::spawn(socket.serve(desk));
    tokio::spawn(keep_house(Arc::clone(&store), clock));
    tokio::spawn(Arc::clone(&supervisor).watchdog());
    if args.sandbox {
        let address = servers.last().unwrap_or(&servers[0]).local_addr();
        let scheme = if servers.len() > 1 { "http" } else { scheme };
        log.say(&format!(
            "SANDBOX: whoever reaches {scheme}://{address}/sandbox/ can empty this store, turn its clock and make it fail; \
             this is no server to rely on"
        ));
    }
    log.say(&format!("serving {scheme}://{}{} from {}", servers[0].local_addr(), args.base_path, args.db));
    supervisor.ready();

    while signals.next().await == Wish::Reload {
        match reloader.reload() {
            Ok(done) => done.lines().iter().for_each(|line| log.say(line)),
            Err(why) => log.complain(&format!("nothing was reloaded: {why}")),
        }
    }
    supervisor.stopping();
    log.say("stopping; another signal stops at once");
    let drained = tokio::task::spawn_blocking(move || stop(servers, &store));
    let ended = tokio::select! {
        all = drained => match all {
            Ok(true) => Ok(()),
            _ => Err(Failure::because("some answers were cut off at the end of the drain")),
        },
        () = signals.end() => Err(Failure::because("stopped at once")),
    };
    if ended.is_ok() {
        log.say("stopped");
    }
    ended
}

/// Stops one listener after the other, the contract's first: who watches the server can see it stop. Says whether all
/// answers were given.
fn stop(servers: Vec<Server>, store: &MemoryStore) -> bool {
    let mut all = true;
    for server in servers {
        server.drain();
        all &= server.join();
    }
    // Last, when nobody writes any more: what is written behind, the counts of this second among it.
    store.close();
    all
}

fn listen(
    loaded: &Loaded,
    threads: NonZeroUsize,
    http: &Http,
    public: Endpoint,
    ops: Option<Endpoint>,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Vec<Server>, Failure> {
    let cannot =
        |place: String, error: io::Error| Failure::because(format!("{place}: cannot listen there: {error}"));
    let named = |endpoint: &Endpoint, key| match endpoint {
        Endpoint::Address(_) => loaded.named(key),
        Endpoint::Inherited(_) => "the socket that was handed over".to_owned(),
    };
    let place = named(&public, "listen");
    let server = match certificate {
        None => http.listen(public, threads),
        Some(certificate) => {
            let config = certificate.config().map_err(|error| Failure::because(error.to_string()))?;
            http.listen_tls(public, threads, config)
        }
    };
    let mut servers = vec![server.map_err(|error| cannot(place, error))?];
    if let Some(ops) = ops {
        let place = named(&ops, "ops-listen");
        servers.push(http.listen_ops(ops).map_err(|error| cannot(place, error))?);
    }
    Ok(servers)
}

/// Makes the first account of an empty store, and shows its key once.
async fn hand_out_initial_key(
    administration: &dyn Administration,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let mut given = given_key(file)?;
    if let (None, Some(file)) = (&given, file) {
        let accounts = administration.accounts(None, 1).await;
        if accounts.map_err(|error| Failure::because(error.to_string()))?.is_empty() {
            given = Some(new_key_in(file)?);
        }
    }
    let is_given = given.is_some();
    let made = administration.ensure_initial_key(given).await.map_err(|failure| match failure {
        Refused::Rejected(rejection) => Failure::because(rejection.to_string()),
        Refused::Store(error) => Failure::because(error.to_string()),
        Refused::RetryInProgress | Refused::RetryKeyReused => Failure::because("the key was made before"),
    })?;
    match made {
        InitialKey::NotNeeded => Ok(()),
        // Whoever gave it has it.
        InitialKey::Made(_) if is_given => Ok(()),
        InitialKey::Made(key) => print(&format!(
            "API key of the account `default` (Business plan), shown this once: {}\n",
            key.reveal()
        )),
    }
}

/// The first key, if the owner has said which: in the environment, or in the file that it would be written to.
fn given_key(file: Option<&Path>) -> Result<Option<ApiKey>, Failure> {
    let not_a_key =
        |what: &str| Failure::usage(format!("{what} is not a key: `petstore keys generate` makes one"));
    if let Ok(text) = std::env::var(INITIAL_KEY_VARIABLE) {
        let key = ApiKey::parse(text.trim().as_bytes()).map_err(|_| not_a_key(INITIAL_KEY_VARIABLE))?;
        return Ok(Some(key));
    }
    let Some(file) = file else { return Ok(None) };
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => {
            let what = format!("what stands in {}", file.display());
            ApiKey::parse(text.trim().as_bytes()).map(Some).map_err(|_| not_a_key(&what))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::because(format!("{} cannot be read: {error}", file.display()))),
    }
}

/// Writes a key to the file before it is anybody's: one that cannot be written must not be lost, and a start that breaks off
/// between the two is followed by one that finds it there.
fn new_key_in(file: &Path) -> Result<ApiKey, Failure> {
    let key = SystemEntropy.bits().map(ApiKey::from_entropy);
    let key = key.map_err(|error| Failure::because(error.to_string()))?;
    write_key(file, &key).map_err(|error| {
        Failure::because(format!("the key cannot be written to {}: {error}", file.display()))
    })?;
    Ok(key)
}

fn write_key(file: &Path, key: &ApiKey) -> io::Result<()> {
    // A file that is there already keeps its mode when it is opened, so it is replaced.
    let _ = std::fs::remove_file(file);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(file, "{}", key.reveal())
}

async fn keep_house(store: Arc<MemoryStore>, clock: Arc<dyn Clock>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // What could not be dropped now is dropped later.
        let _ = store.prune(clock.now()).await;
    }
}

/// What a signal wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Stop,
    Reload,
}

/// The signals that a server heeds.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// Whether the log goes to a terminal that can be closed.
    at_terminal: bool,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            at_terminal: io::stderr().is_terminal(),
        })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            // A closed terminal sends it too, and is none from then on: what was started there ends with it.
            _ = self.hangup.recv() => {
                if self.at_terminal && !io::stderr().is_terminal() { Wish::Stop } else { Wish::Reload }
            }
        }
    }

    /// Waits for one that ends the server.
    async fn end(&mut self) {
        while self.next().await != Wish::Stop {}
    }
}
