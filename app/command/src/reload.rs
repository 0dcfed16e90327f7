//! The reload of settings: the settings are read again from the same sources, and those that can change at run time are
//! applied.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use petstore_http::Http;
use petstore_ports::Clock;
use petstore_redis::RedisTarget;
use petstore_service::Service;
use petstore_webhooks::HmacSigner;

use crate::environment::SystemClock;
use crate::failure::Failure;
use crate::settings::{CommandLine, Db, InForce, LoadError, Loaded, Reading, ServeArgs, shared};
use crate::store::Backend;
use crate::systemd::Supervisor;
use crate::tls::{self, Certificate};

/// Settings that change without a restart.
const LIVE: [&str; 8] = [
    "free-minute",
    "free-day",
    "pro-minute",
    "pro-day",
    "business-minute",
    "business-day",
    "cors",
    "quota-headers",
];

pub(crate) struct Reloader {
    command_line: CommandLine,
    in_force: Mutex<Vec<InForce>>,
    live: Live,
    supervisor: Arc<Supervisor>,
}

/// The parts that can change at run time.
pub(crate) struct Live {
    pub(crate) service: Arc<Service>,
    pub(crate) http: Http,
    pub(crate) backend: Arc<Backend>,
    /// None without TLS.
    pub(crate) certificate: Option<Arc<Certificate>>,
    /// The master key of the webhooks.
    pub(crate) webhook_key: Arc<HmacSigner>,
}

/// The results of a reload.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reloaded {
    /// Changes that are in force now: `key: before -> after`.
    pub(crate) changed: Vec<String>,
    /// Changes that need a restart, in the same form.
    pub(crate) needs_restart: Vec<String>,
    /// Set if the certificate has changed.
    pub(crate) renewed: bool,
    /// Set if the master key of the webhooks was read for the first time, or has changed.
    pub(crate) has_new_key: bool,
    /// The servers whose password has changed.
    pub(crate) passwords: Vec<&'static str>,
    /// A warning about the certificate's dates.
    pub(crate) warning: Option<String>,
}

impl Reloader {
    pub(crate) fn new(
        command_line: CommandLine,
        in_force: Vec<InForce>,
        live: Live,
        supervisor: Arc<Supervisor>,
    ) -> Self {
        Self { command_line, in_force: Mutex::new(in_force), live, supervisor }
    }

    /// Reads the settings again. If one is wrong, nothing changes.
    pub(crate) fn reload(&self) -> Result<Reloaded, String> {
        // The lock is held to the end, so that two concurrent reloads do not mix. The settings of the later reload are
        // then in force.
        let mut in_force = self.in_force.lock();
        self.supervisor.reloading();
        let reloaded = self.read(&mut in_force);
        // After a failed reload the former settings are still served.
        self.supervisor.ready();
        reloaded
    }

    fn read(&self, in_force: &mut [InForce]) -> Result<Reloaded, String> {
        let loaded = self.command_line.load(Reading::Again).map_err(|error| match error {
            LoadError::Usage(error) => error.to_string(),
            LoadError::Settings(failure) => failure.message,
        })?;
        let args = loaded.serve_args().ok_or("the server was not started by `petstore serve`")?;
        loaded.check().map_err(|failure| failure.message)?;
        // A certificate with another path than at the start needs a restart, which is reported below.
        let named = tls::read(&args, &loaded, Reading::Again).map_err(|failure| failure.message)?;
        let (db, redis) = targets(&args).map_err(|failure| failure.message)?;
        let Live { service, http, backend, certificate, webhook_key } = &self.live;
        let has_new_key = webhook_key.reload().map_err(|error| error.to_string())?;
        let mut reloaded = differences(in_force, &loaded);
        reloaded.has_new_key = has_new_key;
        reloaded.passwords = backend.renew_passwords(db.as_ref(), redis.as_ref());
        reloaded.warning =
            named.as_ref().and_then(|(files, read)| tls::date_warning(files, read, SystemClock.now()));
        service.set_plans(args.plans());
        http.set_cors(args.cors.clone());
        http.set_quota_headers(args.quota_headers.form());
        backend.set_node_settings(shared(in_force));
        if let (Some(certificate), Some((files, renewed))) = (certificate, named)
            && certificate.is_from(&files)
        {
            reloaded.renewed = certificate.replace(renewed);
        }
        Ok(reloaded)
    }
}

/// Returns the database and the Redis server with their passwords. A password in a pipe, which is empty after the start, is
/// left out, so that the one of the start stays.
fn targets(args: &ServeArgs) -> Result<(Option<Db>, Option<RedisTarget>), Failure> {
    let is_pipe =
        |file: &Option<PathBuf>| file.as_ref().is_some_and(|file| Reading::Again.check(file).is_err());
    let db = || args.db.clone().with_password(args.db_password_file.as_deref());
    let db = if is_pipe(&args.db_password_file) { None } else { Some(db()?) };
    let redis = if is_pipe(&args.redis_password_file) { None } else { args.redis_target()? };
    Ok((db, redis))
}

/// Compares the settings in force with the settings that were read. Updates the settings that can change at run time.
fn differences(in_force: &mut [InForce], loaded: &Loaded) -> Reloaded {
    let mut reloaded = Reloaded::default();
    for (old, new) in in_force.iter_mut().zip(loaded.in_force()) {
        if old.value == new.value {
            continue;
        }
        let line = format!("{}: {} -> {}", new.key, old.shown(), new.shown());
        if LIVE.contains(&new.key.as_str()) {
            reloaded.changed.push(line);
            *old = new;
        } else {
            reloaded.needs_restart.push(line);
        }
    }
    reloaded
}

impl Reloaded {
    /// The results as text, one line each, without the warning.
    pub(crate) fn lines(&self) -> Vec<String> {
        let changed = self.changed.iter().map(|line| format!("in force: {line}"));
        let waits = self.needs_restart.iter().map(|line| format!("needs a restart: {line}"));
        let renewed = self.renewed.then(|| "in force: a new certificate".to_owned());
        let passwords = self.passwords.iter().map(|name| format!("in force: a new password of {name}"));
        let new_key = self.has_new_key.then(|| "in force: a new master key of webhooks".to_owned());
        let lines: Vec<_> = changed.chain(renewed).chain(new_key).chain(passwords).chain(waits).collect();
        if lines.is_empty() { vec!["reloaded: no setting has changed".to_owned()] } else { lines }
    }
}
