//! The settings in the form that the parts of the server take.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use petstore_domain::{BanPolicy, Limits, PlanTable};
use petstore_http::{Bounds, Deadlines, Epoch, HttpSettings, JournalBounds};
use petstore_platform::open_files_max;
use petstore_service::Policy;
use petstore_sqlite::{DamagedLog, NameCollisions, OpenOptions};

use super::ServeArgs;
use crate::openapi;

/// The number of descriptors that are reserved for other uses than connections, such as the data file, the admin socket
/// and files that are read.
const DESCRIPTORS_RESERVED: usize = 100;

/// The number of times a minute that an account may create, replay or enable webhooks, unless a setting tells it.
const WEBHOOK_STARTS: u32 = 60;

/// Descriptors of a serving thread: its listener and those of its runtime.
const DESCRIPTORS_OF_A_THREAD: usize = 5;

impl ServeArgs {
    /// The policy of the service.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            plans: self.plans(),
            bans: BanPolicy {
                strikes: self.ban_strikes,
                length: self.ban_length,
                memory: self.ban_memory,
                length_max: self.ban_length_max,
            },
            in_flight_max: self.in_flight_max,
            address_limit: self.address_limit,
            idempotency_lifetime: self.idempotency_life,
            idempotency_records_max: self.idempotency_max,
            store_timeout: self.store_timeout,
            quota_timeout: Policy::DEFAULT.quota_timeout,
        }
    }

    /// The limits of the named plans.
    pub(crate) fn plans(&self) -> PlanTable {
        PlanTable {
            free: Limits { minute: self.free_minute, day: self.free_day },
            pro: Limits { minute: self.pro_minute, day: self.pro_day },
            business: Limits { minute: self.business_minute, day: self.business_day },
        }
    }

    /// The settings of the transport. With `ops_apart`, health and metrics have their own listener.
    pub(crate) fn http(&self, epoch: Epoch, ops_apart: bool) -> HttpSettings {
        HttpSettings {
            base_path: self.base_path.clone(),
            public_url: self.public_url.clone(),
            hosts: (!self.hosts.is_empty()).then(|| self.hosts.clone()),
            cors: self.cors.clone(),
            quota_headers: self.quota_headers.form(),
            require_if_match: self.require_if_match,
            enforce_sunset: self.enforce_sunset,
            trusted_proxies: self.trusted_proxies.clone(),
            deadlines: Deadlines {
                head: self.head_timeout,
                body: self.body_timeout,
                idle: self.idle_timeout,
                idle_crowded: self.idle_timeout_crowded,
                write_stall: self.write_timeout,
                drain: self.drain_timeout,
                turn: self.turn_timeout,
                ..Deadlines::DEFAULT
            },
            bounds: self.bounds(ops_apart),
            gzip: self.gzip,
            journal: (self.sandbox_journal > 0).then_some(JournalBounds {
                records: self.sandbox_journal,
                bytes: self.sandbox_journal_bytes,
                body: self.sandbox_journal_body,
            }),
            ..HttpSettings::new(epoch, openapi::documents(&self.base_path))
        }
    }

    /// The options for opening the data file.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions {
            damaged_log: if self.drop_damaged_wal { DamagedLog::Drop } else { DamagedLog::Refuse },
            name_collisions: if self.rename_collisions {
                NameCollisions::Rename
            } else {
                NameCollisions::Refuse
            },
        }
    }

    /// The number of times a minute that an account may create, replay or enable webhooks; none if there is no limit.
    pub(crate) fn webhook_starts(&self) -> Option<u32> {
        self.webhook_starts.or((!self.sandbox).then_some(WEBHOOK_STARTS))
    }

    /// The path of the admin socket.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        self.admin_socket.clone().unwrap_or_else(|| self.db.admin_socket())
    }

    /// The number of serving threads.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        let wanted = self.threads.and_then(NonZeroUsize::new);
        wanted.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }

    /// The bounds of connections, within the limit of open files.
    fn bounds(&self, ops_apart: bool) -> Bounds {
        let of_threads = self.threads().get().saturating_mul(DESCRIPTORS_OF_A_THREAD);
        let left = open_files_max().saturating_sub(of_threads + DESCRIPTORS_RESERVED);
        let Bounds { connections, ops_connections, .. } = Bounds::DEFAULT;
        // If only few files may be open, most of them are for the contract's listener.
        let of_ops = if ops_apart { ops_connections.min(left / 4) } else { 0 };
        let connections = self.connections_max.unwrap_or(connections).min(left - of_ops).max(1);
        Bounds { body: self.body_max, connections, ops_connections: of_ops.max(1), ..Bounds::DEFAULT }
    }
}
