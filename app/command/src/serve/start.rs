//! The parts of a start: reading files, opening the store and the admin socket, the first shop, the first key.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::ApiKey;
use petstore_http::{IdleTime, Server};
use petstore_ports::{Clock, ImportError, StoreErrorKind, WorkProgress};
use petstore_redis::RedisTarget;
use petstore_service::Service;
use rustls::RootCertStore;
use tokio::time::Instant;

use super::housekeeping::forget_future_usage;
use super::webhooks;
use crate::admin::AdminSocket;
use crate::environment::SystemClock;
use crate::failure::Failure;
use crate::first_key::{FirstKey, show};
use crate::log::Log;
use crate::progress::ProgressReport;
use crate::sandbox::FirstShop;
use crate::settings::{Db, Loaded, Reading, ServeArgs, shared};
use crate::signals::Signals;
use crate::store::{Backend, BackendOptions, RedisStore};
use crate::tls::{self, Certificate};
use crate::{migration_report, nodes, own_files};

/// The time for which a start that fills an empty store waits for another import of the same shop, such as that of another node.
const FILL_WAIT: Duration = Duration::from_mins(10);

/// The pause between two attempts to begin. The store may itself wait for some time in each.
const FILL_PAUSE: Duration = Duration::from_millis(100);

/// The files that a start reads besides the settings file, checked together with the path of the admin socket.
pub(crate) struct Inputs<'a> {
    /// The location of the data, with the password of a database.
    pub(crate) db: Db,
    /// The Redis server of the quotas, with its password.
    pub(crate) redis: Option<RedisTarget>,
    pub(super) certificate: Option<Arc<Certificate>>,
    /// A warning about the certificate's dates.
    pub(crate) warning: Option<String>,
    /// The certificates by which the receivers of webhooks are trusted; none for those that the system trusts.
    pub(super) receivers: Option<RootCertStore>,
    pub(crate) first_key: FirstKey<'a>,
}

impl<'a> Inputs<'a> {
    /// Reads and checks the files.
    pub(crate) fn read(args: &'a ServeArgs, loaded: &Loaded) -> Result<Self, Failure> {
        let read = tls::read(args, loaded, Reading::First)?;
        let warning =
            read.as_ref().and_then(|(files, read)| tls::date_warning(files, read, SystemClock.now()));
        let certificate = read.map(|(files, read)| Certificate::new(files, read));
        AdminSocket::judge(&args.admin_socket()).map_err(Failure::usage)?;
        own_files::check_first_key(args, loaded.config())?;
        let db = args.db.clone().with_password(args.db_password_file.as_deref())?;
        let db = db.with_connection(args.pg_prepare, args.pg_require_sync, args.store_timeout);
        let redis = args.redis_target()?;
        Ok(Self {
            db,
            redis,
            certificate,
            warning,
            receivers: webhooks::roots(args, loaded)?,
            first_key: FirstKey::find(args.initial_key_file.as_deref())?,
        })
    }
}

/// Opens the store. This may take long, because another node may be migrating the schema. Returns none if the server is
/// stopped meanwhile.
pub(super) async fn open_store(
    args: &ServeArgs,
    db: Db,
    idle: IdleTime,
    signals: &mut Signals,
    log: &Arc<Log>,
) -> Result<Option<Backend>, Failure> {
    let if_in_use = "stop that process, or name another --db";
    let options = BackendOptions { file: args.open_options(), is_sandbox: args.sandbox };
    let progress: Arc<dyn WorkProgress> = ProgressReport::of_server(log);
    let open = move || Backend::open_with(&db, if_in_use, idle, &options, &progress);
    let Some(opened) = signals.unless_stopped(log, open).await? else { return Ok(None) };
    if opened.is_shared() && args.redis_url.is_none() {
        log.info(
            "quotas are counted by each node: a client that uses several nodes has the quota of each, and a node's counts \
                end with it",
        );
    }
    opened.set_event_retention(args.event_retention, args.event_bytes);
    if args.drop_damaged_wal {
        tell_what_was_dropped(&args.db, &opened, log);
    }
    Ok(Some(opened))
}

/// Accepts the data, and then makes the first changes of the start to it. Nothing is changed before, so that a refused
/// start leaves the data as it was. Returns none if the server is stopped meanwhile.
pub(super) async fn begin_changes(
    args: &ServeArgs,
    backend: &Arc<Backend>,
    shop: Option<&FirstShop>,
    signals: &mut Signals,
    log: &Log,
) -> Result<Option<()>, Failure> {
    if accept(args, backend, signals, log).await?.is_none() {
        return Ok(None);
    }
    forget_future_usage(backend, &args.db, SystemClock.now(), log);
    match shop {
        Some(shop) => fill(backend, shop, signals, log).await,
        None => Ok(Some(())),
    }
}

/// Checks the events of the data, which may take long, makes the migration of the data durable, and reports the values
/// that it has corrected. Returns none if the server is stopped meanwhile.
async fn accept(
    args: &ServeArgs,
    backend: &Arc<Backend>,
    signals: &mut Signals,
    log: &Log,
) -> Result<Option<()>, Failure> {
    let (db, opened) = (args.db.clone(), Arc::clone(backend));
    if signals.unless_stopped(log, move || opened.accept(&db)).await?.is_none() {
        return Ok(None);
    }
    for line in migration_report::lines(&backend.mended) {
        log.warn(&line);
    }
    Ok(Some(()))
}

/// Lets the nodes of a database count in Redis, if a server is set.
pub(super) async fn count_in_redis(
    args: &ServeArgs,
    target: Option<&RedisTarget>,
    backend: &mut Backend,
    clock: &Arc<dyn Clock>,
    log: &Log,
) -> Result<(), Failure> {
    let Some(target) = target else { return Ok(()) };
    if let Some(warning) = target.encryption().1 {
        log.warn(warning);
    }
    let prefix = if let Some(number) = backend.shop_number() {
        format!("petstore:{number}")
    } else {
        if args.redis_prefix.is_none() {
            log.warn(
                "the role cannot read the identity of the database: set the same redis-prefix on all nodes, otherwise \
                 nodes that start after a new epoch count apart",
            );
        }
        format!("petstore:{:016x}", backend.epoch.get())
    };
    let (redis, server) = RedisStore::open(args, target, prefix, Arc::clone(clock)).await?;
    match server {
        Some(server) => {
            log.info(&format!("quotas are counted in {target}, {} {}", server.program, server.version));
            if !server.is_durable {
                log.warn("Redis has appendonly no: a restart of Redis forgets all counts and strikes");
            }
        }
        // `watch_store` logs the reason, and the end of the outage.
        None => log.warn(&format!("quotas are to be counted in {target}, which is down")),
    }
    backend.set_redis(redis);
    Ok(())
}

/// Makes the first key and shows it, or returns it for the line of JSON. If several nodes start at the same time, only one
/// of them makes a key.
pub(super) async fn hand_out(
    first_key: FirstKey<'_>,
    args: &ServeArgs,
    backend: &Arc<Backend>,
    service: &Service,
    log: &Log,
) -> Result<Option<ApiKey>, Failure> {
    let lock = Arc::clone(backend);
    let lock = blocking(move || lock.lock_start().map_err(|error| Failure::because(error.report()))).await?;
    let shown = first_key.hand_out(service, log).await?;
    drop(lock);
    if args.process.ready_json {
        return Ok(shown);
    }
    shown.map_or(Ok(()), |key| show(&key)).map(|()| None)
}

/// Registers the server as a node of its database, before it answers any request. Warns of settings in which it differs from
/// the nodes that run.
pub(super) async fn join_nodes(
    backend: &Arc<Backend>,
    server: &Server,
    loaded: &Loaded,
    log: &Log,
) -> Result<(), Failure> {
    let own = shared(&loaded.in_force());
    let (address, settings, backend) = (server.local_addr().to_string(), own.clone(), Arc::clone(backend));
    let others = blocking(move || backend.join(address, settings)).await?;
    for warning in nodes::warnings(&own, &others) {
        log.warn(&warning);
    }
    Ok(())
}

/// Runs a part of the start that blocks.
pub(super) async fn blocking<T: Send + 'static>(
    part: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(part).await;
    done.map_err(|_| Failure::because("a part of the start panicked")).flatten()
}

/// Reports which changes the setting `drop-damaged-wal` dropped. Warns at each start for which the setting is given: if
/// the log is damaged again, the setting would drop the changes behind that damage too.
fn tell_what_was_dropped(db: &Db, opened: &Backend, log: &Log) {
    const TAKE_AWAY: &str =
        "remove drop-damaged-wal, which would also drop the changes behind the next damage";
    match (opened.dropped, opened.missing) {
        (Some(place), _) => log.warn(&format!(
            "{db}-wal was damaged in {place}, and the changes behind the damage were dropped; {TAKE_AWAY}"
        )),
        (None, Some(missing)) => log.warn(&format!(
            "{db}-wal lacked the changes after batch {}, of which batch {} was on disk, and the store goes on without \
                them; {TAKE_AWAY}",
            missing.found.0, missing.marked.0
        )),
        (None, None) => log.warn(&format!("{db}-wal is not damaged, and nothing was dropped; {TAKE_AWAY}")),
    }
}

/// Opens the admin socket. Returns none if the socket cannot be opened, the settings do not name it, and the store is
/// in memory or in a database. Such a store is served without the socket, for example in a read-only folder or beside
/// another server.
pub(super) fn open_socket(args: &ServeArgs, log: &Log) -> Result<Option<AdminSocket>, Failure> {
    let path = args.admin_socket();
    match AdminSocket::open(&path) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if !matches!(args.db, Db::File(_)) && args.admin_socket.is_none() => {
            log.warn(&format!(
                "no admin socket: {} cannot be opened: {error}; the commands keys, accounts, import, export and \
                    reload cannot reach this server: name another file with --admin-socket",
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

/// Reads the shop that the settings name; none if they name none. Breaks if the server is stopped meanwhile.
pub(super) async fn read_shop(
    args: &ServeArgs,
    loaded: &Loaded,
    signals: &mut Signals,
    log: &Arc<Log>,
) -> Result<ControlFlow<(), Option<FirstShop>>, Failure> {
    let Some(file) = args.sandbox_shop.clone() else {
        return Ok(ControlFlow::Continue(args.demo.map(FirstShop::Demo)));
    };
    let (setting, progress) = (loaded.named("sandbox-shop"), ProgressReport::of_server(log));
    let read = move || FirstShop::read(&file, &setting, &*progress);
    let shop = signals.unless_stopped(log, read).await?;
    Ok(shop.map_or(ControlFlow::Break(()), |shop| ControlFlow::Continue(Some(shop))))
}

/// Fills an empty store with the shop that the settings name. While another node fills the same store, waits for it. Returns none if the
/// server is stopped meanwhile.
async fn fill(
    backend: &Arc<Backend>,
    shop: &FirstShop,
    signals: &mut Signals,
    log: &Log,
) -> Result<Option<()>, Failure> {
    let until = Instant::now() + FILL_WAIT;
    for attempt in 0_u64.. {
        let (backend, own) = (Arc::clone(backend), shop.clone());
        let fill = move || match own.fill(&backend) {
            Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Busy => {
                std::thread::sleep(FILL_PAUSE);
                Ok(Err(error))
            }
            filled => filled.map(Ok).map_err(|error| own.failed(&error)),
        };
        match signals.unless_stopped(log, fill).await? {
            Some(Err(busy)) if Instant::now() >= until => return Err(shop.failed(&busy.into())),
            Some(Err(_)) if attempt == 0 => {
                let setting = shop.setting();
                log.info(&format!("{setting}: the store is in use by another import; waiting for its end"));
            }
            Some(Err(_)) => {}
            Some(Ok(false)) => {
                log.info(&format!("{}: the store is not empty and was left unchanged", shop.setting()));
                break;
            }
            Some(Ok(true)) => break,
            None => return Ok(None),
        }
    }
    Ok(Some(()))
}
