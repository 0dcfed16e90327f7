//! The hosts of a database, of which one accepts writes.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A configuration for each host of a database. The driver itself tries several hosts in turn, but a host that accepts a
/// connection and then says nothing would take all of its time.
pub(super) struct Hosts {
    each: Vec<Config>,
    /// The host that was connected to last.
    last: AtomicUsize,
}

impl Hosts {
    /// The hosts of a configuration.
    pub(super) fn of(config: &Config) -> Self {
        let count = config.get_hosts().len().max(config.get_hostaddrs().len());
        let each = (0..count).map(|place| alone(config, place)).collect();
        Self { each, last: AtomicUsize::new(0) }
    }

    /// The number of hosts.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.each.len()).unwrap_or(u32::MAX)
    }

    /// The hosts with their places, beginning with the one that was connected to last.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = (usize, &Config)> {
        let first = self.last.load(Ordering::Relaxed);
        let places = (first..self.each.len()).chain(0..first.min(self.each.len()));
        places.map(|place| (place, &self.each[place]))
    }

    /// Remembers the host that was connected to. Returns whether it is another one than before.
    pub(super) fn connected(&self, place: usize) -> bool {
        self.last.swap(place, Ordering::Relaxed) != place
    }
}

/// The configuration with one of its hosts.
fn alone(config: &Config, place: usize) -> Config {
    let mut one = Config::new();
    match config.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(folder)) => drop(one.host_path(folder)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(place).or(ports.first()) {
        one.port(*port);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(database) = config.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(time) = config.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives_idle(config.get_keepalives_idle());
    one.ssl_mode(config.get_ssl_mode()).channel_binding(config.get_channel_binding());
    one.target_session_attrs(config.get_target_session_attrs());
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Target;

    #[test]
    fn each_host_has_the_settings_of_all() {
        let url = "postgres://pets:secret@one,two:5433/shop?options=-c%20a%3Db&channel_binding=require";
        let target = Target::parse(url).unwrap();
        let hosts = Hosts::of(&target.config);
        assert_eq!(hosts.count(), 2);
        for (place, name, port) in [(0, "one", 5432), (1, "two", 5433)] {
            let mut one = hosts.each[place].clone();
            let single = format!(
                "postgres://pets:secret@{name}:{port}/shop?options=-c%20a%3Db&channel_binding=require"
            );
            let single = Target::parse(&single).unwrap().config;
            // The only difference: a single host has all of the time.
            one.connect_timeout(*single.get_connect_timeout().unwrap());
            assert!(one == single, "{one:?} {single:?}");
        }
        assert_eq!([hosts.connected(1), hosts.connected(1)], [true, false]);
        assert_eq!(hosts.in_turn().map(|(place, _)| place).collect::<Vec<_>>(), [1, 0]);
    }
}
