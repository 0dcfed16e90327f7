//! The task of a node that examines its server: at the start, at intervals, and after a failure.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use petstore_ports::{StoreError, StoreErrorKind};
use petstore_remote_connection::{Backoff, Random, Waits};
use redis::cmd;
use tokio::time::{Instant, sleep, timeout};

use super::examination_error::{ExaminationError, late, refused};
use super::node::RedisConnections;
use super::permissions::check_permissions;
use super::server_check::RedisServer;
use super::server_clock::{ClockSample, SAMPLES, ServerClock};
use super::session::Session;

/// The time limit for connecting to a server and examining it.
const EXAMINATION_TIME: Duration = Duration::from_millis(250);

/// The time between two measurements of the server's clock, which also show that the server answers.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// The number of measurements between two readings of the server's properties: five seconds.
const EXAMINED_EVERY: u32 = 5;

/// The time for which a node that starts waits for its server.
const START_TIME: Duration = Duration::from_secs(5);

/// The waits between attempts. They are short, because a node must be back within a second of its server. One task of a node
/// connects, so that even many nodes are no load for a server.
const WAITS: Waits = Waits {
    min: Duration::from_millis(50),
    first_max: Duration::from_millis(150),
    max: Duration::from_millis(150),
};

/// A session with its latest measurements.
struct Watch {
    session: Session,
    samples: Vec<ClockSample>,
    measured: u32,
}

impl RedisConnections {
    /// Examines the server for a node that starts. A server that is not suitable is an error, in particular one whose
    /// configuration must be changed. A server that cannot be reached, is loading or is a replica is tried for a few
    /// seconds, and may be absent then: returns none, and [`RedisConnections::run`] continues to look for it.
    pub async fn start(&self) -> Result<Option<RedisServer>, StoreError> {
        let since = Instant::now();
        let mut backoff = Backoff::new(WAITS, Random::of_handle(self.options.seed));
        loop {
            match self.connect_and_examine().await {
                Ok((_, server)) => {
                    return match server.unfit(self.options.allows_eviction) {
                        Some(unfit) => Err(unfit.to_error()),
                        None => Ok(Some(server)),
                    };
                }
                Err(ExaminationError { error, is_permanent: true }) => return Err(error),
                Err(ExaminationError { error, .. }) if since.elapsed() >= START_TIME => {
                    self.fail(&error);
                    return Ok(None);
                }
                Err(_) => sleep(backoff.failed()).await,
            }
        }
    }

    /// Examines the server for as long as the node runs.
    pub async fn run(self: Arc<Self>) {
        let mut backoff = Backoff::new(WAITS, Random::of_handle(self.options.seed));
        let mut watch = None;
        loop {
            // If the old connection fails, a new one shows whether the server does.
            let examined = match watch.take() {
                Some(watch) => self.continue_watch(watch).await.ok(),
                None => None,
            };
            let examined = match examined {
                Some(watch) => Ok(watch),
                None => self.reconnect().await,
            };
            match examined {
                Ok(examined) => {
                    // After a report of a failure the old connection says nothing about the server.
                    watch = tokio::select! {
                        () = sleep(MEASURED_EVERY) => Some(examined),
                        () = self.examine.notified() => None,
                    };
                }
                Err(ExaminationError { error, .. }) => {
                    self.fail(&error);
                    sleep(backoff.failed()).await;
                }
            }
        }
    }

    /// Connects to a server and examines it. If this fails while the server works, makes a second attempt at once, because
    /// the server may have ended only this connection.
    async fn reconnect(&self) -> Result<Watch, ExaminationError> {
        let examined = match self.connect_and_examine().await {
            Err(_) if self.fault().is_none() => self.connect_and_examine().await,
            examined => examined,
        };
        examined.map(|(watch, _)| watch)
    }

    /// Connects to the server and examines it. Commands are sent from then on.
    async fn connect_and_examine(&self) -> Result<(Watch, RedisServer), ExaminationError> {
        let examined = timeout(EXAMINATION_TIME, async {
            let session = self.addresses.open(&self.target(), EXAMINATION_TIME).await?;
            self.connects.fetch_add(1, Ordering::Relaxed);
            let server = self.examine_over(&session).await?;
            let mut watch = Watch { session, samples: Vec::with_capacity(SAMPLES), measured: 0 };
            for _ in 0..SAMPLES {
                self.measure(&mut watch).await?;
            }
            Ok((watch, server))
        });
        let examined = examined.await.unwrap_or_else(|_| Err(late()));
        examined.inspect_err(|_| self.addresses.failed())
    }

    /// Measures the clock of the server, and from time to time examines the server.
    async fn continue_watch(&self, mut watch: Watch) -> Result<Watch, ExaminationError> {
        let examined = timeout(EXAMINATION_TIME, async {
            self.measure(&mut watch).await?;
            watch.measured += 1;
            if watch.measured.is_multiple_of(EXAMINED_EVERY) {
                self.examine_over(&watch.session).await?;
            }
            Ok(watch)
        });
        examined.await.unwrap_or_else(|_| Err(late()))
    }

    /// Reads the properties of the server, and takes the prefix.
    async fn examine_over(&self, session: &Session) -> Result<RedisServer, ExaminationError> {
        let server = read_server(session).await?;
        let unfit = server.unfit(self.options.allows_eviction);
        if let Some(unfit) = &unfit
            && !unfit.is_usable()
        {
            return Err(ExaminationError { error: unfit.to_error(), is_permanent: unfit.is_permanent() });
        }
        check_permissions(session, &self.options.prefix).await?;
        let [set, get, keep] = self.options.owner.claim(&self.options.prefix);
        for command in [&set, &keep] {
            session.send(command).await.map_err(refused)?;
        }
        let found = session.send(&get).await.map_err(refused)?;
        let checked = self.options.owner.check(&self.options.prefix, &found);
        checked.map_err(|error| ExaminationError { error, is_permanent: true })?;
        self.recover(unfit.map(|unfit| unfit.to_error()));
        Ok(server)
    }

    async fn measure(&self, watch: &mut Watch) -> Result<(), ExaminationError> {
        let sent = Instant::now();
        let reply = watch.session.send(&cmd("TIME")).await.map_err(refused)?;
        let received = Instant::now();
        let sample = ClockSample::read(sent, received, &reply);
        let sample = sample.ok_or_else(|| StoreError::unavailable("Redis does not tell its time"))?;
        let micros = u64::try_from((received - sent).as_micros()).unwrap_or(u64::MAX);
        self.round_trip.store(micros, Ordering::Relaxed);
        if watch.samples.len() == SAMPLES {
            watch.samples.remove(0);
        }
        watch.samples.push(sample);
        if watch.samples.len() == SAMPLES
            && let Some(measured) = ServerClock::of(&watch.samples)
        {
            self.set_server_clock(measured);
        }
        Ok(())
    }
}

/// Reads the properties of a server.
pub(super) async fn read_server(session: &Session) -> Result<RedisServer, ExaminationError> {
    let info = session.send(&cmd("INFO")).await.map_err(|error| {
        let refused = refused(error);
        // A port with TLS ends a connection without it at the first command.
        match refused.error.kind() {
            StoreErrorKind::Indeterminate if !session.is_encrypted() => StoreError::unavailable(
                "Redis ended the connection at the first command: if its port has TLS, write rediss:// in redis-url",
            )
            .into(),
            _ => refused,
        }
    })?;
    match redis::from_redis_value::<String>(info) {
        Ok(info) => Ok(RedisServer::read(&info)),
        Err(_) => Err(StoreError::unavailable("Redis does not tell its properties").into()),
    }
}
