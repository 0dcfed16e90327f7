//! `petstore serve`: puts the parts together and runs them until a signal comes.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_http::{Endpoint, Http, HttpSettings, IdleTime, Server};
use petstore_ports::api::{Administration, Petstore};
use petstore_ports::{Clock, StoreErrorKind};
use petstore_service::{BanWrites, Service};
use petstore_sqlite::LogPosition;

use crate::addresses::{advice, page_origin};
use crate::admin::{AdminSocket, Bulk, Desk};
use crate::demo;
use crate::environment::{SystemClock, SystemEntropy};
use crate::first_key::{FirstKey, show};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::openapi;
use crate::reload::{Live, Reloader};
use crate::sandbox::{self, Bench};
use crate::settings::{Db, Loaded, LogLevel, Reading, ServeArgs};
use crate::signals::{Signals, Wish};
use crate::store::Backend;
use crate::systemd::{self, Supervisor};
use crate::tls::{self, Certificate};
use crate::{Failure, mended, single_threaded};

/// How often counts are noted, bans are recorded, and what has expired is dropped. A crash forgets what was counted since then and
/// while it was being noted: with a whole second it was up to 1.02 s on a busy machine, and a second is promised.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// How far ahead of the clock windows and bans may be that a start goes on with. A clock that steps back grants nothing; but
/// after one that was years ahead, as on a machine whose battery is empty, accounts would be locked out for as long.
const CLOCK_AHEAD_MAX: Duration = Duration::from_hours(7 * 24);

/// No clock that is right shows a time before this program was written: 2026-11-01, from 1970 on.
const WRITTEN: Duration = Duration::from_hours(20_758 * 24);

/// How long an end waits for the store, when all answers are given: an import or a disk that hangs may hold it for longer.
const CLOSING_TIME: Duration = Duration::from_secs(3);

/// How long after that it waits for imports to say what has become of them, which takes a write each.
const ANSWERING_TIME: Duration = Duration::from_secs(1);

/// Serves until a signal comes; a later one ends the process at once.
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

/// What a start takes from other files than that of the settings, when it is known that they, and the admin socket's path,
/// will do.
pub(crate) struct Inputs<'a> {
    certificate: Option<Arc<Certificate>>,
    /// What is to be said of its dates.
    pub(crate) warning: Option<String>,
    pub(crate) first_key: FirstKey<'a>,
}

impl<'a> Inputs<'a> {
    /// Reads them; what is wrong with one of them ends a start.
    pub(crate) fn read(args: &'a ServeArgs, loaded: &Loaded) -> Result<Self, Failure> {
        let read = tls::read(args, loaded, Reading::First)?;
        let warning = read.as_ref().and_then(|(files, read)| tls::untimely(files, read, SystemClock.now()));
        let certificate = read.map(|(files, read)| Certificate::new(files, read));
        AdminSocket::judge(&args.admin_socket()).map_err(Failure::usage)?;
        Ok(Self { certificate, warning, first_key: FirstKey::find(args.initial_key_file.as_deref())? })
    }
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
    // Before the data is opened: a wrong one is told at once.
    let Inputs { certificate, warning, first_key } = Inputs::read(args, loaded)?;
    if let Some(warning) = warning {
        log.warn(&warning);
    }
    let idle = IdleTime::default();
    let backend = Arc::new(open_store(args, idle.clone(), log)?);
    forget_what_is_ahead(&backend, &args.db, machine.now(), log);
    if args.sandbox {
        sandbox::claim(&args.db, &backend, &|key| loaded.named(key))?;
    }
    let socket = open_socket(args, log)?;
    let demo = args.demo.filter(|_| args.sandbox);
    let Some(shop) = signals.unless_stopped(log, move || sandbox::beginning(demo)).await? else {
        return Ok(());
    };
    let Bench { clock, sandbox } = Bench::of(args, &backend, &machine, shop);
    let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
    let service = Arc::new(Service::new(ports, args.policy()));

    if let Some(pets) = args.demo
        && fill(&backend, pets, &mut signals, log).await?.is_none()
    {
        return Ok(());
    }
    let metrics = Metrics {
        backend: Arc::clone(&backend),
        service: Arc::clone(&service),
        log: Arc::clone(log),
        clock: Arc::clone(&clock),
    };
    let mut endpoints = systemd::inherited()?.into_iter();
    let public = endpoints.next().unwrap_or(args.listen.into());
    let ops = endpoints.next().or(args.ops_listen.map(Endpoint::from));
    let mut settings = HttpSettings {
        observer: log.observer(),
        idle,
        exposition: Some(Arc::new(metrics)),
        sandbox,
        request_ids: SystemEntropy::number().map_err(|error| Failure::because(error.report()))?,
        ..args.http(backend.epoch, ops.is_some())
    };
    if args.sandbox {
        sandbox::check_inherited(args, [Some(&public), ops.as_ref()])?;
        let origin = sandbox::origin(&public, ops.as_ref(), certificate.is_some());
        settings.documents.page = openapi::page_of_sandbox(&origin, ops.is_none());
    }
    let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, ops.is_some());
    // What is done once is done when it is known that the addresses can be had: a server that cannot listen must not have
    // taken the file from the sandboxes, nor have spent the one chance to show its key. And nobody is answered before it is
    // done: who is told that the server is ready may use the key at once.
    http.hold();
    let servers = listen(loaded, args.threads(), &http, public, ops, certificate.as_ref())?;
    if !args.sandbox {
        sandbox::disclaim(&args.db)?;
    }
    let shown = first_key.hand_out(&*service, log).await?;
    shown.map_or(Ok(()), |key| show(&key))?;
    http.open();

    let scheme = if certificate.is_some() { "https" } else { "http" };
    let live = Live { service: Arc::clone(&service), http: http.clone(), certificate };
    let reloader = Arc::new(Reloader::new(arguments, loaded.in_force(), live, Arc::clone(&supervisor)));
    let bulk = Arc::new(Bulk::new(Arc::clone(&backend)));
    let desk = Desk {
        reloader: Some(Arc::clone(&reloader)),
        administration: Arc::clone(&service) as Arc<dyn Administration>,
        clock: Arc::clone(&clock),
        bulk: Arc::clone(&bulk),
        overlap: args.overlap,
    };
    if let Some(socket) = socket {
        tokio::spawn(socket.serve(desk));
    }
    tokio::spawn(keep_house(Arc::clone(&backend), Arc::clone(&service), clock, Arc::clone(log)));
    tokio::spawn(record_bans(Arc::clone(&service), Arc::clone(log)));
    tokio::spawn(Arc::clone(&supervisor).watchdog());
    announce(args, scheme, &servers, log);
    supervisor.ready();

    while std::mem::take(&mut signals.reload_waits) || signals.next().await == Wish::Reload {
        reload(&reloader, log);
    }
    supervisor.stopping();
    log.say("stopping; another signal stops at once");
    let ended = tokio::select! {
        ended = stop(servers, record_last_bans(&service, log), backend, &bulk) => ended,
        () = signals.another_end() => Err(Failure::because("stopped at once")),
    };
    if ended.is_ok() {
        log.say("stopped");
    }
    ended
}

/// Says where what is served: the line that says `serving` comes last, since who started the server waits for that.
fn announce(args: &ServeArgs, scheme: &str, servers: &[Server], log: &Log) {
    if args.sandbox {
        let address = servers.last().unwrap_or(&servers[0]).local_addr();
        let scheme = if servers.len() > 1 { "http" } else { scheme };
        log.say(&format!(
            "SANDBOX: whoever reaches {scheme}://{address} can empty this store (POST /sandbox/reset), turn its clock \
             and make it fail; this is no server to rely on"
        ));
    }
    if !args.trusted_proxies.is_empty() && args.public_url.is_none() {
        log.say(
            "trusted-proxies without public-url: links in answers begin with the scheme and host that these proxies tell, in \
             Forwarded, else in X-Forwarded-Proto and X-Forwarded-Host",
        );
    }
    if let [_, ops] = servers {
        log.say(&format!("health and metrics: http://{}", ops.local_addr()));
    }
    log.say(&format!("reference and console: {}/docs", page_origin(args, scheme, servers[0].local_addr())));
    log.say(&format!("serving {scheme}://{}{} from {}", servers[0].local_addr(), args.base_path, args.db));
}

fn reload(reloader: &Reloader, log: &Log) {
    match reloader.reload() {
        Ok(done) => {
            done.lines().iter().for_each(|line| log.say(line));
            done.warning.iter().for_each(|warning| log.warn(warning));
        }
        Err(why) => log.complain(&format!("nothing was reloaded: {why}")),
    }
}

fn open_store(args: &ServeArgs, idle: IdleTime, log: &Log) -> Result<Backend, Failure> {
    let if_in_use = "stop that one, or name another --db";
    let opened = Backend::open_with(&args.db, if_in_use, idle, args.open_options())?;
    for line in mended::lines(&opened.mended) {
        log.warn(&line);
    }
    if args.drop_damaged_wal {
        tell_what_was_dropped(&args.db, opened.dropped, log);
    }
    Ok(opened)
}

/// Tells the one who permitted it, each time: a later damage would be dropped like this one.
fn tell_what_was_dropped(db: &Db, dropped: Option<LogPosition>, log: &Log) {
    const TAKE_AWAY: &str = "take drop-damaged-wal away, which would do the same for the next damage";
    match dropped {
        Some(place) => log.warn(&format!(
            "{db}-wal was damaged in {place}, and the changes that stood behind that are dropped; {TAKE_AWAY}"
        )),
        None => log.warn(&format!("nothing had to be dropped from {db}-wal; {TAKE_AWAY}")),
    }
}

/// Forgets usage and bans of a clock that was ahead, unless it is this one that is behind, as on a machine that does not
/// know the time yet. A sandbox's may have been turned, and goes with the machine's from now on.
fn forget_what_is_ahead(backend: &Backend, db: &Db, now: Timestamp, log: &Log) {
    let is_sandbox = sandbox::is_marked(db);
    if now < Timestamp::EPOCH.plus(WRITTEN) && !is_sandbox {
        return;
    }
    let tolerated = if is_sandbox { Duration::ZERO } else { CLOCK_AHEAD_MAX };
    let accounts = match backend.forget_usage_after(now.plus(tolerated)) {
        Ok(accounts) => accounts,
        Err(error) => {
            log.warn(&format!("usage of a clock that was ahead cannot be forgotten: {}", error.report()));
            return;
        }
    };
    if accounts > 0 && !is_sandbox {
        log.warn(&format!(
            "the clock was ahead by more than a week when {} last counted: what was used is forgotten",
            if accounts == 1 { "1 account was".to_owned() } else { format!("{accounts} accounts were") }
        ));
    }
}

/// Opens the socket of the administrative commands. None where it was not asked for by name and cannot be had: a server
/// that keeps nothing, in a folder that is not its own or beside another one, serves all the same.
fn open_socket(args: &ServeArgs, log: &Log) -> Result<Option<AdminSocket>, Failure> {
    let path = args.admin_socket();
    match AdminSocket::open(&path) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if args.db == Db::Memory && args.admin_socket.is_none() => {
            log.warn(&format!(
                "no admin socket: {} cannot be opened: {error}; the keys, accounts, import, export and reload commands \
                 do not reach this server unless --admin-socket names another file",
                path.display()
            ));
            Ok(None)
        }
        Err(error) => Err(Failure::because(format!(
            "the admin socket {} cannot be opened: {error}; name another file with --admin-socket",
            path.display()
        ))),
    }
}

/// Fills an empty store with a demonstration. None if the server is stopped meanwhile.
async fn fill(
    backend: &Arc<Backend>,
    pets: u32,
    signals: &mut Signals,
    log: &Log,
) -> Result<Option<()>, Failure> {
    let backend = Arc::clone(backend);
    let filled = signals.unless_stopped(log, move || demo::fill(backend.bulk(), pets)).await?;
    if filled == Some(false) {
        log.say("demo: the store is not empty, and stays as it is");
    }
    Ok(filled.map(|_| ()))
}

/// Stops one listener after the other, the contract's first: who watches the server can see it stop. They have the drain's
/// time together. Then the store: what is written behind is noted, the counts of this second among it.
async fn stop(
    servers: Vec<Server>,
    record_bans: impl Future<Output = ()>,
    backend: Arc<Backend>,
    bulk: &Bulk,
) -> Result<(), Failure> {
    let drain = |all, server: Server| {
        server.drain();
        server.join() && all
    };
    let drained = tokio::task::spawn_blocking(move || servers.into_iter().fold(true, drain)).await;
    // Last, when nobody writes any more.
    let closed = async {
        record_bans.await;
        tokio::task::spawn_blocking(move || backend.close()).await
    };
    let Ok(closed) = tokio::time::timeout(CLOSING_TIME, closed).await else {
        return Err(Failure::because(
            "an import, an export or the disk does not come to an end; what was acknowledged is kept",
        ));
    };
    // An import that the store has waited for is there, and its client does not know that yet.
    let _: Result<(), _> = tokio::time::timeout(ANSWERING_TIME, bulk.answered()).await;
    match (drained, closed) {
        (Ok(true), Ok(())) => Ok(()),
        _ => Err(Failure::because("some answers were cut off at the end of the drain")),
    }
}

fn listen(
    loaded: &Loaded,
    threads: NonZeroUsize,
    http: &Http,
    public: Endpoint,
    ops: Option<Endpoint>,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Vec<Server>, Failure> {
    let cannot = |place: String, error: io::Error, flag: &str| {
        let advice = advice(error.kind(), flag);
        Failure::because(format!("{place}: cannot listen there: {error}{advice}"))
    };
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
    let mut servers = vec![server.map_err(|error| cannot(place, error, "listen"))?];
    if let Some(ops) = ops {
        let place = named(&ops, "ops-listen");
        servers.push(http.listen_ops(ops).map_err(|error| cannot(place, error, "ops-listen"))?);
    }
    Ok(servers)
}

/// Records the bans that the gate has decided. A store that hangs delays this task alone.
async fn record_bans(service: Arc<Service>, log: Arc<Log>) {
    let mut is_failing = false;
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let writes = service.record_bans().await;
        log_dropped_bans(&writes, &log);
        is_failing &= writes.recorded == 0 && service.figures().bans_waiting > 0;
        if let Some(error) = writes.failed.filter(|error| error.kind() != StoreErrorKind::Busy)
            && !is_failing
        {
            is_failing = true;
            log.complain(&format!(
                "bans cannot be recorded now; until they are, a restart forgets them: {}",
                error.report()
            ));
        }
    }
}

/// Records the bans that wait when the server ends.
async fn record_last_bans(service: &Service, log: &Log) {
    let writes = service.record_all_bans().await;
    log_dropped_bans(&writes, log);
    if let Some(error) = &writes.failed {
        log.complain(&format!("bans cannot be recorded, and are forgotten: {}", error.report()));
    }
}

fn log_dropped_bans(writes: &BanWrites, log: &Log) {
    if writes.dropped > 0 {
        log.warn(&format!(
            "too many bans wait to be recorded: {} more are in force until a restart",
            writes.dropped
        ));
    }
}

async fn keep_house(backend: Arc<Backend>, service: Arc<Service>, clock: Arc<dyn Clock>, log: Arc<Log>) {
    let (mut fault, mut refused, mut quota_fault) = (None, None, None);
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // What could not be dropped now is dropped later.
        let _ = backend.housekeeping().prune(clock.now()).await;
        // Where no client asks for a change, nothing else brings the storage engine's words into the log.
        let why = backend.disk_fault();
        if why != refused {
            match &why {
                Some(why) => log.complain(&format!("changes are refused: {}", why.report())),
                None => log.say("changes are taken again"),
            }
            refused = why;
        }
        let outage = service.quota_fault();
        if outage != quota_fault {
            match &outage {
                Some(error) => log.complain(&format!("the quota store is down: {}", error.report())),
                None => log.say("the quota store answers again"),
            }
            quota_fault = outage;
        }
        let now = backend.log_fault();
        if now != fault {
            // Nothing is refused for that yet, so nobody else would say it.
            match &now {
                Some(fault) => {
                    log.complain(&format!("the data file's log grows, and nothing is lost: {fault}"));
                }
                None => log.say("the data file's log is copied again"),
            }
            fault = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_waits_for_the_answer_that_an_import_owes_but_not_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            for (answered, ended) in
                [(ANSWERING_TIME / 2, ANSWERING_TIME / 2), (2 * ANSWERING_TIME, ANSWERING_TIME)]
            {
                let bulk = Bulk::new(Arc::new(Backend::in_memory(1)));
                let owed = bulk.owe();
                let begun = tokio::time::Instant::now();
                tokio::spawn(async move {
                    tokio::time::sleep(answered).await;
                    drop(owed);
                });
                stop(vec![], async {}, Arc::new(Backend::in_memory(1)), &bulk).await.unwrap();
                // The clock goes on only while all wait.
                let waited = begun.elapsed();
                assert!((ended..ended + ANSWERING_TIME / 4).contains(&waited), "{answered:?}: {waited:?}");
            }
        });
    }
}
