//! Checks of settings against each other.

use petstore_domain::Limits;

use super::{Db, QuotaFallback, ServeArgs};
use crate::failure::Failure;

impl ServeArgs {
    /// Checks the settings together. `named` returns a setting with its value and origin.
    pub(crate) fn check(&self, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
        let plans =
            [("free", self.plans().free), ("pro", self.plans().pro), ("business", self.plans().business)];
        for (plan, Limits { minute, day }) in plans {
            if day < minute {
                let (day, minute) = (named(&format!("{plan}-day")), named(&format!("{plan}-minute")));
                return Err(Failure::usage(format!("{day} is less than {minute}")));
            }
        }
        if self.ban_length > self.ban_length_max {
            let (length, max) = (named("ban-length"), named("ban-length-max"));
            return Err(Failure::usage(format!("{length} is longer than {max}")));
        }
        let alone = match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => Some(("tls-cert", "tls-key")),
            (None, Some(_)) => Some(("tls-key", "tls-cert")),
            _ => None,
        };
        if let Some((set, other)) = alone {
            return Err(Failure::usage(format!("{} is set without {other}: set both or none", named(set))));
        }
        if self.ops_listen == Some(self.listen) && self.listen.port() != 0 {
            let (ops, listen) = (named("ops-listen"), named("listen"));
            return Err(Failure::usage(format!(
                "{ops} and {listen} have the same address: use another one for \
                ops-listen"
            )));
        }
        self.check_redis(named)?;
        self.check_sandbox_shop(named)?;
        self.check_sandbox(named)
    }

    /// Refuses settings of Redis that contradict others, or that would have no effect.
    fn check_redis(&self, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
        if self.redis_url.is_none() {
            let others = [
                ("redis-prefix", self.redis_prefix.is_some()),
                ("redis-allow-eviction", self.redis_allow_eviction),
                ("quota-fallback", self.quota_fallback == QuotaFallback::Local),
            ];
            return match others.into_iter().find(|(_, is_set)| *is_set) {
                Some((key, _)) => {
                    Err(Failure::usage(format!("{} is set without redis-url: set both or none", named(key))))
                }
                None => Ok(()),
            };
        }
        if !matches!(self.db, Db::Postgres(_)) {
            return Err(Failure::usage(format!(
                "{} counts the quotas of several nodes, and {} has one server: remove redis-url, or name a PostgreSQL \
                 database",
                named("redis-url"),
                named("db")
            )));
        }
        if self.sandbox && self.redis_prefix.is_none() {
            return Err(Failure::usage(format!(
                "{} with {} needs a redis-prefix of its own, because its clock can be turned: set one that no shop uses",
                named("sandbox"),
                named("redis-url")
            )));
        }
        Ok(())
    }

    /// Refuses a shop of the sandbox that would have no effect, or that contradicts the demonstration.
    fn check_sandbox_shop(&self, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
        let Some(file) = &self.sandbox_shop else { return Ok(()) };
        let shop = named("sandbox-shop");
        let why = if !self.sandbox {
            format!("{shop} is set without sandbox: set both or none")
        } else if self.demo.is_some() {
            let demo = named("demo");
            format!("{shop} and {demo} exclude each other: each is the shop of a reset; remove one of them")
        } else if file.as_os_str() == "-" {
            format!("{shop}: expected a file, because a start does not read standard input")
        } else {
            return Ok(());
        };
        Err(Failure::usage(why))
    }

    /// Refuses a sandbox on an address that other machines reach, unless that is permitted, because every client can
    /// empty the store of a sandbox.
    fn check_sandbox(&self, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
        let listeners = [("listen", Some(self.listen)), ("ops-listen", self.ops_listen)];
        let open = listeners.into_iter().find_map(|(key, address)| {
            address.filter(|address| !address.ip().to_canonical().is_loopback()).map(|_| key)
        });
        match open {
            Some(key) if self.sandbox && !self.sandbox_anywhere => Err(Failure::usage(format!(
                "{} and {} exclude each other: other machines may reach that address, and every client can empty a \
                    sandbox; set sandbox-anywhere to permit that",
                named("sandbox"),
                named(key)
            ))),
            _ => Ok(()),
        }
    }
}
