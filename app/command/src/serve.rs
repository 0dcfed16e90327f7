//! `petstore serve`: wires the parts together and runs them until a signal arrives.

mod bans;
mod fault_log;
mod housekeeping;
mod listeners;
mod ready_line;
mod start;
mod webhooks;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use petstore_http::{Endpoint, Exposition, Http, HttpSettings, IdleTime, Server};
use petstore_ports::Clock;
use petstore_ports::api::{Administration, Petstore};
use petstore_service::{DispatchStats, Service};
use tokio::task::JoinHandle;

use self::bans::{record_bans, record_last_bans};
use self::housekeeping::{run_housekeeping, watch_store};
use self::listeners::{announce, listen};
pub(crate) use self::start::Inputs;
use self::start::{
    begin_changes, blocking, count_in_redis, hand_out, join_nodes, open_socket, open_store, read_shop,
};
use self::webhooks::Deliveries;
use crate::admin::{AdminHandler, BulkTransfers};
use crate::console;
use crate::environment::{SystemClock, SystemEntropy};
use crate::failure::Failure;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::openapi;
use crate::own_files;
use crate::reload::{Live, Reloader};
use crate::runtime::single_threaded;
use crate::sandbox::{self, TestControls};
use crate::settings::{CommandLine, Loaded, LogLevel, ServeArgs};
use crate::signals::{SignalRequest, Signals};
use crate::store::Backend;
use crate::systemd::{self, Supervisor};

/// The time limit for closing the store after the last answer. The limit is needed because an import or a disk that
/// does not respond may delay the closing.
const CLOSING_TIME: Duration = Duration::from_secs(3);

/// The additional time limit for imports to send their answers.
const ANSWERING_TIME: Duration = Duration::from_secs(1);

/// Serves until a signal arrives; another signal ends the process at once.
pub(crate) fn serve(
    args: &ServeArgs,
    loaded: &Loaded,
    command_line: CommandLine,
    warnings: &[String],
) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let log = Arc::new(Log::new(args, Arc::clone(&clock)));
    for warning in warnings {
        log.warn(warning);
    }
    // The transport catches and counts panics. Their payload may contain anything, so it is not logged.
    let hook = Arc::clone(&log);
    let wants_panics = args.log != LogLevel::Off;
    std::panic::set_hook(Box::new(move |_| {
        if wants_panics {
            hook.error("a panic was caught");
        }
    }));
    let runtime = single_threaded()?;
    let served = runtime.block_on(run(args, loaded, command_line, clock, &log));
    log.close();
    // A second signal does not wait for the threads that drain.
    runtime.shutdown_background();
    served
}

async fn run(
    args: &ServeArgs,
    loaded: &Loaded,
    command_line: CommandLine,
    machine: Arc<dyn Clock>,
    log: &Arc<Log>,
) -> Result<(), Failure> {
    // The signals are the first step, so that a signal during the start is not lost.
    let mut signals = Signals::listen(args.process.end_with_stdin)?;
    let supervisor = Arc::new(Supervisor::find());
    // The files are read before the data is opened, so that a fault in them is reported at once.
    let Inputs { db, redis, certificate, warning, receivers, first_key } = Inputs::read(args, loaded)?;
    for warning in warning.as_deref().into_iter().chain(db.warning()) {
        log.warn(warning);
    }
    let idle = IdleTime::default();
    let ControlFlow::Continue(first_shop) = read_shop(args, loaded, &mut signals, log).await? else {
        return Ok(());
    };
    let Some(mut backend) = open_store(args, db, idle.clone(), &mut signals, log).await? else {
        return Ok(());
    };
    count_in_redis(args, redis.as_ref(), &mut backend, &machine, log).await?;
    let backend = Arc::new(backend);
    if args.sandbox {
        sandbox::claim(&args.db, &backend, &|key| loaded.named(key))?;
    }
    let socket = open_socket(args, log)?;
    let (of_reset, progress) = (first_shop.clone().filter(|_| args.sandbox), Arc::clone(backend.progress()));
    let rows = move || of_reset.map_or(Ok(Arc::new([]) as _), |shop| shop.rows(&progress));
    let Some(shop) = signals.unless_stopped(log, rows).await? else {
        return Ok(());
    };
    let shared = backend.clock(machine);
    let TestControls { clock, sandbox } = TestControls::of(args, &backend, &shared, shop);
    let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
    let service = Arc::new(Service::new(ports, args.policy()));
    let stats = Arc::new(DispatchStats::default());
    let mut endpoints = systemd::inherited()?.into_iter();
    let public = endpoints.next().unwrap_or(args.listen.into());
    let ops = endpoints.next().or(args.ops_listen.map(Endpoint::from));
    let mut settings = HttpSettings {
        observer: log.observer(),
        idle,
        exposition: Some(metrics(&backend, &service, &clock, &stats, log)),
        sandbox,
        request_ids: SystemEntropy::number().map_err(|error| Failure::because(error.report()))?,
        ..args.http(backend.epoch.clone(), ops.is_some())
    };
    if args.sandbox {
        documents_of_sandbox(args, &public, ops.as_ref(), certificate.is_some(), &mut settings)?;
        settings.administration = Some(Arc::clone(&service) as Arc<dyn Administration>);
    }
    let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, ops.is_some());
    // The steps that cannot be undone are done after the listeners were opened. A server that cannot listen must not
    // migrate or change the data, must not show the first key, and must not remove the mark that permits a sandbox to
    // use the data. No request is answered until these steps are done, because a client may use the key as soon as the
    // server is ready.
    http.hold();
    let servers = listen(loaded, args.threads(), &http, public, ops, certificate.as_ref())?;
    if begin_changes(args, &backend, first_shop.as_ref(), &mut signals, log).await?.is_none() {
        return Ok(());
    }
    if !args.sandbox {
        let (db, backend) = (args.db.clone(), Arc::clone(&backend));
        blocking(move || sandbox::disclaim(&db, &backend)).await?;
    }
    join_nodes(&backend, &servers[0], loaded, log).await?;
    let connected =
        webhooks::Parts { args, loaded, backend: &backend, service: &service, clock: &clock, log };
    let webhooks = webhooks::connect(&connected, &stats, receivers, &http, &servers)?;
    if let Some(testing) = webhooks.tester() {
        http.test_webhooks(Arc::new(testing));
    }
    let key = hand_out(first_key, args, &backend, &service, log).await?;
    http.open();

    let scheme = if certificate.is_some() { "https" } else { "http" };
    let live = Live {
        service: Arc::clone(&service),
        http: http.clone(),
        backend: Arc::clone(&backend),
        certificate,
        webhook_key: Arc::clone(&webhooks.signer),
    };
    let reloader = Arc::new(Reloader::new(command_line, loaded.in_force(), live, Arc::clone(&supervisor)));
    let bulk = Arc::new(BulkTransfers::new(Arc::clone(&backend)));
    if let Some(socket) = socket {
        tokio::spawn(socket.serve(AdminHandler {
            reloader: Some(Arc::clone(&reloader)),
            administration: Arc::clone(&service) as Arc<dyn Administration>,
            clock: Arc::clone(&clock),
            webhooks: Arc::clone(&webhooks.service),
            bulk: Arc::clone(&bulk),
            overlap: args.overlap,
            own_files: own_files::of_server(args, loaded.config()),
        }));
    }
    spawn_tasks(&backend, &service, &clock, &supervisor, log);
    let deliveries = webhooks.start();
    announce(args, scheme, &servers, key.as_ref(), log)?;
    supervisor.ready();

    until_stopped(&mut signals, &reloader, log).await;
    supervisor.stopping();
    log.info(signals.why_stopping());
    let delivered = deliveries.map(Deliveries::stop);
    let ended = end(&mut signals, servers, &service, backend, &bulk, delivered, log).await;
    log.count_failures_left_out();
    if ended.is_ok() {
        log.info("stopped");
    }
    ended
}

fn metrics(
    backend: &Arc<Backend>,
    service: &Arc<Service>,
    clock: &Arc<dyn Clock>,
    deliveries: &Arc<DispatchStats>,
    log: &Arc<Log>,
) -> Arc<dyn Exposition> {
    Arc::new(Metrics {
        backend: Arc::clone(backend),
        service: Arc::clone(service),
        log: Arc::clone(log),
        clock: Arc::clone(clock),
        deliveries: Arc::clone(deliveries),
    })
}

/// Sets the reference page and the console of a sandbox, after a check of its listeners.
fn documents_of_sandbox(
    args: &ServeArgs,
    public: &Endpoint,
    ops: Option<&Endpoint>,
    is_secure: bool,
    settings: &mut HttpSettings,
) -> Result<(), Failure> {
    sandbox::check_inherited(args, [Some(public), ops])?;
    let origin = sandbox::origin(public, ops, is_secure);
    settings.documents.page = openapi::page_of_sandbox(&origin, ops.is_none());
    let api_origin = ops.map(|_| sandbox::origin(public, None, is_secure));
    settings.documents.console = console::files(args, api_origin.as_deref(), settings.journal.is_some());
    Ok(())
}

/// Reloads the settings at each signal that asks for it, until a signal asks for a stop.
async fn until_stopped(signals: &mut Signals, reloader: &Reloader, log: &Log) {
    while std::mem::take(&mut signals.reload_waits) || signals.next().await == SignalRequest::Reload {
        reload(reloader, log);
    }
}

/// Waits until the requests and deliveries in progress have ended, unless a second signal ends the server at once.
async fn end(
    signals: &mut Signals,
    servers: Vec<Server>,
    service: &Arc<Service>,
    backend: Arc<Backend>,
    bulk: &BulkTransfers,
    delivered: Option<JoinHandle<()>>,
    log: &Log,
) -> Result<(), Failure> {
    let record_last = async {
        record_last_bans(service, log).await;
        if let Some(delivered) = delivered {
            // A panic of the dispatcher was logged when it happened.
            let _: Result<(), _> = delivered.await;
        }
    };
    tokio::select! {
        ended = stop(servers, record_last, backend, bulk) => ended,
        () = signals.another_end() => Err(Failure::because("stopped at once")),
    }
}

/// Starts the tasks that run beside the requests.
fn spawn_tasks(
    backend: &Arc<Backend>,
    service: &Arc<Service>,
    clock: &Arc<dyn Clock>,
    supervisor: &Arc<Supervisor>,
    log: &Arc<Log>,
) {
    tokio::spawn(Arc::clone(supervisor).watchdog());
    tokio::spawn(run_housekeeping(Arc::clone(backend), Arc::clone(clock)));
    tokio::spawn(watch_store(Arc::clone(backend), Arc::clone(service), Arc::clone(clock), Arc::clone(log)));
    tokio::spawn(record_bans(Arc::clone(service), Arc::clone(log)));
}

fn reload(reloader: &Reloader, log: &Log) {
    match reloader.reload() {
        Ok(done) => {
            done.lines().iter().for_each(|line| log.info(line));
            done.warning.iter().for_each(|warning| log.warn(warning));
        }
        Err(why) => log.error(&format!("nothing was reloaded: {why}")),
    }
}

/// Drains the listeners one after the other, within one drain time for both. The operations listener is drained last,
/// so that it reports the shutdown while the other listener drains. Then closes the store, which writes the usage of
/// the last second.
async fn stop(
    servers: Vec<Server>,
    record_bans: impl Future<Output = ()>,
    backend: Arc<Backend>,
    bulk: &BulkTransfers,
) -> Result<(), Failure> {
    let drain = |all, server: Server| {
        server.drain();
        server.join() && all
    };
    let drained = tokio::task::spawn_blocking(move || servers.into_iter().fold(true, drain)).await;
    // The store is closed last, when no request writes any more.
    let closed = async {
        record_bans.await;
        tokio::task::spawn_blocking(move || backend.close()).await
    };
    let Ok(closed) = tokio::time::timeout(CLOSING_TIME, closed).await else {
        return Err(Failure::because(
            "the store did not close in time, because of an import, an export or the disk; acknowledged changes are \
                kept",
        ));
    };
    // The store has waited for running imports. Their answers may still have to be sent to the clients.
    let _: Result<(), _> = tokio::time::timeout(ANSWERING_TIME, bulk.answered()).await;
    match (drained, closed) {
        (Ok(true), Ok(())) => Ok(()),
        _ => Err(Failure::because("some answers were cut off at the end of the drain time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_waits_for_a_pending_import_answer_within_a_time_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            for (answered, ended) in
                [(ANSWERING_TIME / 2, ANSWERING_TIME / 2), (2 * ANSWERING_TIME, ANSWERING_TIME)]
            {
                let bulk = BulkTransfers::new(Arc::new(Backend::in_memory(1)));
                let pending = bulk.mark_pending();
                let begun = tokio::time::Instant::now();
                tokio::spawn(async move {
                    tokio::time::sleep(answered).await;
                    drop(pending);
                });
                stop(vec![], async {}, Arc::new(Backend::in_memory(1)), &bulk).await.unwrap();
                // The paused clock advances only while all tasks wait.
                let waited = begun.elapsed();
                assert!((ended..ended + ANSWERING_TIME / 4).contains(&waited), "{answered:?}: {waited:?}");
            }
        });
    }
}
