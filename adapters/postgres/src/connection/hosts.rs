//! The hosts of a database, of which one accepts writes.

use std::io;
use std::net::IpAddr;

use parking_lot::Mutex;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::host;
use super::names::Names;

/// A configuration for each host of a database. The driver itself tries several hosts and all addresses of a name in turn,
/// but one that accepts a connection and then says nothing would take all of its time.
pub(super) struct Hosts {
    each: Vec<Config>,
    names: Box<dyn Names>,
    /// The host that was connected to last.
    last: Mutex<Place>,
}

/// A host by its place in the URL, and its address if the host is a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    host: usize,
    address: Option<IpAddr>,
}

impl Hosts {
    /// The hosts of a configuration. `names`: the resolver of those that are names.
    pub(super) fn of(config: &Config, names: Box<dyn Names>) -> Self {
        let count = config.get_hosts().len().max(config.get_hostaddrs().len());
        let each = (0..count).map(|place| alone(config, place)).collect();
        Self { each, names, last: Mutex::new(Place { host: 0, address: None }) }
    }

    /// The number of hosts.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.each.len()).unwrap_or(u32::MAX)
    }

    /// The numbers of the hosts, beginning with the one that was connected to last.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.last.lock().host, self.each.len());
        (first..count).chain(0..first.min(count))
    }

    /// Returns the addresses of a host, beginning with the one that was connected to last, each as a configuration with its
    /// place. A name is resolved by each call, because a failover may change its address.
    pub(super) async fn addresses(&self, host: usize) -> io::Result<Vec<(Place, Config)>> {
        let config = &self.each[host];
        let ([Host::Tcp(name)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
            return Ok(vec![(Place { host, address: None }, config.clone())]);
        };
        let mut addresses = self.names.resolve(name).await?;
        let last = self.last.lock().address;
        // The sort is stable, so the others stay in the order of the resolver.
        addresses.sort_by_key(|address| Some(*address) != last);
        let at = |address| {
            let mut one = config.clone();
            one.hostaddr(address);
            (Place { host, address: Some(address) }, one)
        };
        Ok(addresses.into_iter().map(at).collect())
    }

    /// Remembers the place that was connected to. Returns whether an earlier connection may lead to another one.
    pub(super) fn connected(&self, place: Place) -> bool {
        let before = std::mem::replace(&mut *self.last.lock(), place);
        let is_first_address = before.host == place.host && before.address.is_none();
        before != place && !is_first_address
    }
}

/// The configuration with one of its hosts.
fn alone(config: &Config, place: usize) -> Config {
    let mut one = Config::new();
    if let Some(host) = config.get_hosts().get(place) {
        host::add(&mut one, host);
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
    use std::sync::Arc;

    use async_trait::async_trait;

    use super::*;
    use crate::connection::Target;
    use crate::connection::names::SystemNames;

    /// A resolver whose answer the test changes.
    #[derive(Default)]
    struct Changing(Arc<Mutex<Vec<IpAddr>>>);

    #[async_trait]
    impl Names for Changing {
        async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            let known = if name == "db.example" { self.0.lock().clone() } else { vec![] };
            if known.is_empty() { Err(io::Error::other("no such name")) } else { Ok(known) }
        }
    }

    fn hosts(url: &str) -> (Hosts, Arc<Mutex<Vec<IpAddr>>>) {
        let names = Changing::default();
        let answer = Arc::clone(&names.0);
        (Hosts::of(&Target::parse(url).unwrap().config, Box::new(names)), answer)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    async fn found(hosts: &Hosts, host: usize) -> Vec<Option<IpAddr>> {
        hosts
            .addresses(host)
            .await
            .unwrap()
            .iter()
            .map(|(_, config)| config.get_hostaddrs().first().copied())
            .collect()
    }

    #[test]
    fn each_host_has_the_settings_of_all() {
        let url = "postgres://pets:secret@one,two:5433/shop?options=-c%20a%3Db&channel_binding=require";
        let target = Target::parse(url).unwrap();
        let hosts = Hosts::of(&target.config, Box::new(SystemNames));
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
        let second = Place { host: 1, address: None };
        assert_eq!([hosts.connected(second), hosts.connected(second)], [true, false]);
        assert_eq!(hosts.in_turn().collect::<Vec<_>>(), [1, 0]);
    }

    #[tokio::test]
    async fn a_name_that_moves_to_another_address_is_followed_by_the_next_attempt() {
        let (hosts, answer) = hosts("postgres://db.example/shop");
        for (text, is_other) in [("192.0.2.1", false), ("192.0.2.1", false), ("192.0.2.2", true)] {
            *answer.lock() = vec![address(text)];
            let found = hosts.addresses(0).await.unwrap();
            let [(place, config)] = &found[..] else { panic!("one address: {}", found.len()) };
            assert_eq!(config.get_hostaddrs(), [address(text)]);
            // The certificate is that of the name, whatever its address.
            assert_eq!(config.get_hosts(), [Host::Tcp("db.example".to_owned())]);
            assert_eq!(hosts.connected(*place), is_other, "{text}");
        }
        answer.lock().clear();
        assert!(hosts.addresses(0).await.is_err());
    }

    #[tokio::test]
    async fn the_address_that_was_connected_to_comes_first_while_the_name_has_it() {
        let (hosts, answer) = hosts("postgres://db.example/shop");
        let [one, two, three] = ["192.0.2.1", "2001:db8::2", "192.0.2.3"].map(address);
        *answer.lock() = vec![one, two, three];
        assert_eq!(found(&hosts, 0).await, [Some(one), Some(two), Some(three)]);
        assert!(!hosts.connected(Place { host: 0, address: Some(two) }));
        assert_eq!(found(&hosts, 0).await, [Some(two), Some(one), Some(three)]);
        *answer.lock() = vec![three, one];
        assert_eq!(found(&hosts, 0).await, [Some(three), Some(one)]);
    }

    #[tokio::test]
    async fn only_a_name_is_resolved() {
        for url in
            ["postgres:///shop?host=/run/postgresql", "postgres:///shop?host=elsewhere&hostaddr=192.0.2.7"]
        {
            let (hosts, _) = hosts(url);
            assert_eq!(hosts.addresses(0).await.unwrap().len(), 1, "{url}");
        }
        let (hosts, _) = hosts("postgres://unknown/shop");
        assert!(hosts.addresses(0).await.is_err());
    }
}
