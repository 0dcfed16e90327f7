//! `/metrics`: the statistics of the server's parts, as OpenMetrics text.
//!
//! This module counts nothing: each part keeps its own counts, which are read on request. Labels are routes, methods,
//! statuses, plans and fixed words, never values of clients.

mod postgres;
mod process;
mod webhooks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_http::{Exposition, TransportStats};
use petstore_ports::{Clock, StoreCounts};
use petstore_redis::RedisStats;
use petstore_service::{DispatchStats, Service};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use self::process::Process;
use crate::log::Log;
use crate::store::{Backend, CommitStats, DatabaseStats};
use crate::version;

/// The parts of the server whose counts are read.
pub(crate) struct Metrics {
    pub(crate) backend: Arc<Backend>,
    pub(crate) service: Arc<Service>,
    pub(crate) log: Arc<Log>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The counts of the deliveries of webhooks.
    pub(crate) deliveries: Arc<DispatchStats>,
}

impl Exposition for Metrics {
    fn text(&self, transport: &TransportStats) -> String {
        let mut registry = Registry::default();
        let now = self.clock.now();
        registry.register_collector(Box::new(Snapshot {
            now,
            transport: transport.clone(),
            store: self.backend.counts(),
            is_ready: self.backend.is_ready(now),
            service: self.service.figures(),
            quota_is_up: self.backend.redis_fault().or_else(|| self.service.quota_fault()).is_none(),
            redis: self.backend.redis_stats(),
            commits: self.backend.commits.as_ref().map(|commits| commits.stats()),
            database: self.backend.database_stats(),
            log_pages: self.backend.log_pages(),
            log_is_stuck: self.backend.log_fault().is_some(),
            dropped: self.log.dropped(),
            process: Process::read(),
            deliveries: Arc::clone(&self.deliveries),
        }));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut text, &registry);
        text
    }
}

/// All statistics as of one moment.
#[derive(Debug)]
struct Snapshot {
    now: Timestamp,
    transport: TransportStats,
    store: StoreCounts,
    is_ready: bool,
    service: petstore_service::OutcomeCounts,
    /// `true` while requests are counted by the quota store.
    quota_is_up: bool,
    /// None unless quotas are counted in Redis.
    redis: Option<RedisStats>,
    commits: Option<CommitStats>,
    /// None without a PostgreSQL database.
    database: Option<DatabaseStats>,
    /// None without a data file.
    log_pages: Option<u32>,
    log_is_stuck: bool,
    dropped: u64,
    process: Process,
    deliveries: Arc<DispatchStats>,
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        self.transport(&mut families)?;
        self.store(&mut families)?;
        self.quota_store(&mut families)?;
        self.events(&mut families)?;
        webhooks::encode(&self.deliveries, self.now, &mut families)?;
        if let Some(database) = &self.database {
            postgres::encode(database, &mut families)?;
        }
        let help = "Log lines that were lost: the queue was full, or the output could not be written";
        families.counter("petstore_log_lines_dropped", help, self.dropped)?;
        let build = [("version", version::NUMBER.to_owned()), ("commit", version::COMMIT.to_owned())];
        families.gauges("petstore_build_info", "What this is", [(build, 1)])?;
        self.process.encode(&mut families)
    }
}

impl Snapshot {
    fn transport(&self, families: &mut Families<'_>) -> fmt::Result {
        let TransportStats {
            requests,
            latencies,
            decisions,
            in_flight,
            accepted,
            connections,
            panics,
            shed,
            forwarded_ignored,
            ..
        } = &self.transport;
        let counts = requests.iter().map(|one| {
            let labels = [
                ("route", one.route.to_owned()),
                ("method", one.method.to_owned()),
                ("status", one.status.to_string()),
            ];
            (labels, one.count)
        });
        families.counters("petstore_http_requests", "Requests that were answered", counts)?;
        let histograms = latencies.iter().map(|one| ([("route", one.route)], one.sum, &*one.buckets));
        let help = "Time from the head of a request to its answer";
        families.durations("petstore_http_request_duration", help, histograms)?;
        let help = "Requests that are being answered";
        families.gauge("petstore_http_requests_in_flight", help, *in_flight)?;
        families.counter(
            "petstore_http_connections_accepted",
            "Connections that were accepted",
            *accepted,
        )?;
        families.gauge("petstore_http_connections", "Connections that are open", *connections)?;
        families.counter("petstore_http_panics", "Handlers that panicked; each cost one request", *panics)?;
        let help = "Requests that were refused because of overload";
        families.counter("petstore_http_shed", help, *shed)?;
        let help = "Values of Forwarded and X-Forwarded headers of trusted proxies that were ignored";
        families.counter("petstore_http_forwarded_ignored", help, *forwarded_ignored)?;
        let counts =
            decisions.iter().map(|one| ([("plan", one.plan), ("decision", one.decision)], one.count));
        families.counters("petstore_quota_decisions", "Decisions about requests with a key", counts)
    }

    fn store(&self, families: &mut Families<'_>) -> fmt::Result {
        let store = &self.store;
        let help = "Bans that began, each counted by the server whose request began it";
        families.counter("petstore_key_bans", help, store.bans)?;
        let help = "Bans that are in force and wait to be recorded";
        families.gauge("petstore_key_bans_waiting", help, self.service.bans_waiting)?;
        let help = "Times that a ban was not recorded because too many waited";
        families.counter("petstore_key_bans_dropped", help, self.service.bans_dropped)?;
        let kinds = [
            ("pets", store.pets),
            ("categories", store.categories),
            ("orders", store.orders),
            ("accounts", store.accounts),
            ("keys", store.keys),
        ];
        let records = kinds.map(|(kind, count)| ([("kind", kind)], count));
        families.gauges("petstore_store_records", "Records in the store", records)?;
        let help = "1 while a change is expected to succeed";
        families.gauge("petstore_store_ready", help, u64::from(self.is_ready))?;
        let help = "Calls that met damaged data while the rest is served; the log names the places";
        families.counter("petstore_store_damage", help, store.damage)?;
        let help = "Operations that wait for the journal";
        families.gauge("petstore_store_queue_length", help, store.waiting as u64)?;
        let service = &self.service;
        let outcomes = [("done", service.done), ("rejected", service.rejected), ("failed", service.failed)];
        let counts = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count));
        families.counters(
            "petstore_store_operations",
            "Operations that the store was asked to run",
            counts,
        )?;
        if let Some(log_pages) = self.log_pages {
            let help = "Pages in the -wal of the data file";
            families.gauge("petstore_store_log_pages", help, log_pages.into())?;
            let help = "1 while the -wal of the data file is not checkpointed";
            families.gauge("petstore_store_log_stuck", help, self.log_is_stuck.into())?;
        }
        let Some(commits) = &self.commits else { return Ok(()) };
        let help = "Commits that failed";
        families.counter("petstore_store_commit_failures", help, commits.failures)?;
        let (name, help) = ("petstore_store_commit_duration", "Time from a batch to its sync");
        families.duration(name, help, commits.time, &commits.durations)?;
        let help = "Operations in a batch";
        families.sizes("petstore_store_batch_operations", help, commits.operations, &commits.sizes)
    }

    /// Without Redis the quota store is up, and the counts of its connections are zero.
    fn quota_store(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "1 while requests are counted by the quota store";
        families.gauge("petstore_quota_store_up", help, self.quota_is_up.into())?;
        let help = "Calls of the quota store that failed";
        families.counter("petstore_quota_store_failures", help, self.service.quota_failures)?;
        let help = "Requests for which the quota store was not called, since it had failed repeatedly";
        families.counter("petstore_quota_store_unasked", help, self.service.quota_unasked)?;
        let help = "Requests that this node counted by its share, since the quota store was down";
        families.counter("petstore_quota_stand_ins", help, self.service.quota_stand_ins)?;
        let stats = self.redis;
        let help = "Times that Redis was found to be down";
        families.counter("petstore_redis_outages", help, stats.map_or(0, |stats| stats.outages))?;
        let help = "Connections to Redis that were opened";
        families.counter("petstore_redis_connects", help, stats.map_or(0, |stats| stats.connects))?;
        let help = "Time by which the clock of this node is ahead of that of Redis";
        let ahead = stats.and_then(|stats| stats.clock_ahead).unwrap_or(0.0);
        families.gauge_of("petstore_redis_clock_ahead", help, &Unit::Seconds, ahead)?;
        let help = "Time of the last round trip to Redis";
        let round_trip = stats.map_or(0.0, |stats| stats.round_trip);
        families.gauge_of("petstore_redis_round_trip", help, &Unit::Seconds, round_trip)
    }

    fn events(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "Position of the last event in the log";
        families.gauge("petstore_events_head", help, self.store.last_event)?;
        let help = "Age of the oldest event in the log; 0 without events";
        let age = self.store.oldest_event_at.map_or(Duration::ZERO, |oldest| self.now.since(oldest));
        families.gauge_of("petstore_events_oldest", help, &Unit::Seconds, age.as_secs_f64())?;
        let help = "Streams of events that are open";
        families.gauge("petstore_events_streams", help, self.transport.streams)
    }
}

/// Encodes families of metrics.
struct Families<'e>(DescriptorEncoder<'e>);

impl Families<'_> {
    fn counter(&mut self, name: &str, help: &str, count: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, u64>(&count, None)
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        counts: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        counts.into_iter().try_for_each(|(labels, count)| {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
        })
    }

    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
    }

    /// Encodes histograms of durations.
    fn durations<'h, L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        histograms: impl IntoIterator<Item = (L, Duration, &'h [(Duration, u64)])>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        histograms
            .into_iter()
            .try_for_each(|(labels, sum, buckets)| times(&mut family.encode_family(&labels)?, sum, buckets))
    }

    /// Encodes one histogram of durations, without labels.
    fn duration(
        &mut self,
        name: &str,
        help: &str,
        sum: Duration,
        buckets: &[(Duration, u64)],
    ) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        times(&mut self.0.encode_descriptor(name, help, unit, MetricType::Histogram)?, sum, buckets)
    }

    /// Encodes a histogram of numbers.
    #[expect(clippy::cast_precision_loss, reason = "counts of operations are far from 2^53")]
    fn sizes(&mut self, name: &str, help: &str, sum: u64, buckets: &[(u64, u64)]) -> fmt::Result {
        let bound = |bound: u64| if bound == u64::MAX { f64::INFINITY } else { bound as f64 };
        let buckets: Vec<_> = buckets.iter().map(|(upper, count)| (bound(*upper), *count)).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(sum as f64, count, &buckets, None)
    }

    /// Encodes a counter with a fraction.
    fn seconds_counter(&mut self, name: &str, help: &str, seconds: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, u64>(&seconds, None)
    }

    fn gauges_of<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        unit: &Unit,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, Some(unit), MetricType::Gauge)?;
        values.into_iter().try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
    }

    fn gauge_of(&mut self, name: &str, help: &str, unit: &Unit, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(unit), MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }
}

fn times(metric: &mut MetricEncoder<'_>, sum: Duration, buckets: &[(Duration, u64)]) -> fmt::Result {
    let seconds = |bound: Duration| if bound == Duration::MAX { f64::INFINITY } else { bound.as_secs_f64() };
    let buckets: Vec<_> = buckets.iter().map(|(bound, count)| (seconds(*bound), *count)).collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    metric.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), count, &buckets, None)
}
