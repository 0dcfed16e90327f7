//! Checks of settings against each other.

use petstore_domain::Limits;

use super::ServeArgs;
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
        self.check_sandbox(named)
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
