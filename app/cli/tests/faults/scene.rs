//! Nodes on a database behind a proxy that interferes with their connections.

use std::fs::{self, OpenOptions};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use petstore_test_servers::{FaultProxy, Postgres};

use crate::common::machine_clock::{self, MachineClock};
use crate::common::{Client, Site};

/// The pets of the shop, and the units of each at the beginning.
pub(crate) const PETS: u64 = 8;
pub(crate) const STOCK: u64 = 1_000_000;

/// The time limit for a node to serve after its start. It is generous, because the machine may be busy.
const START_MAX: Duration = Duration::from_mins(2);

/// A node: a server process whose log is kept.
pub(crate) struct Node {
    pub(crate) site: Site,
    url: String,
    /// Further arguments.
    pub(crate) args: Vec<String>,
    /// The clock that it reads in place of the machine's.
    pub(crate) clock: Option<MachineClock>,
    /// How often the node had begun to serve before its last start.
    before: usize,
}

impl Node {
    /// Creates a node that is not started yet.
    pub(crate) fn new(name: &str, url: &str) -> Self {
        Self { site: Site::new(name), url: url.to_owned(), args: Vec::new(), clock: None, before: 0 }
    }

    /// Starts the process, and does not wait for it.
    pub(crate) fn spawn(&mut self) {
        self.before = self.starts();
        // The address limit is that of requests without a valid key, which the load does not send. The demo fills only
        // an empty shop.
        let demo = PETS.to_string();
        let args = ["--db", &self.url, "--demo", &demo, "--address-limit", "2147483647"];
        let mut command = self.site.command(&args);
        command.args(&self.args);
        if let Some(clock) = &self.clock {
            command.envs(clock.variables());
        }
        let open = |name: &str| {
            let path = self.site.folder.join(name);
            OpenOptions::new().create(true).append(true).open(path).unwrap()
        };
        command.stdout(open("out")).stderr(open("log")).stdin(Stdio::null());
        self.site.server = Some(command.spawn().unwrap());
    }

    /// Starts the process, and waits until it serves.
    pub(crate) fn start(&mut self) {
        self.spawn();
        let steps = START_MAX.as_millis() / 10;
        let serves = (0..steps).any(|_| {
            sleep(Duration::from_millis(10));
            self.serves() || self.has_ended()
        });
        assert!(serves && self.serves(), "a node does not start:\n{}", self.log());
    }

    /// Returns whether the node has begun to serve since its last start, and still runs.
    pub(crate) fn serves(&mut self) -> bool {
        self.starts() > self.before && !self.has_ended()
    }

    /// Returns how often the node has begun to serve.
    fn starts(&self) -> usize {
        self.log().matches("serving http").count()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.site.folder.join("log")).unwrap_or_default()
    }

    /// Returns whether the process has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.site.server.as_mut().is_none_or(|server| server.try_wait().unwrap().is_some())
    }

    /// Kills the process (SIGKILL), and waits for its end.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.site.server.take() {
            let _ = server.kill();
            let _ = server.wait();
            if self.clock.is_some() {
                machine_clock::forget(server.id());
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Nodes, their database and the proxy between them.
pub(crate) struct Scene {
    // The nodes end first.
    pub(crate) nodes: Vec<Node>,
    pub(crate) proxy: FaultProxy,
    pub(crate) server: Postgres,
    /// A key without a quota.
    pub(crate) key: String,
    /// The URL of the database for commands, past the proxy.
    pub(crate) url: String,
}

impl Scene {
    /// Starts nodes whose connections go through the proxy.
    pub(crate) fn on(server: Postgres, name: &str, count: usize) -> Self {
        Self::prepared(server, name, count, |_| ())
    }

    /// Starts nodes whose connections go through the proxy, after `prepare` has given them arguments and clocks.
    pub(crate) fn prepared(
        server: Postgres,
        name: &str,
        count: usize,
        prepare: impl FnOnce(&mut [Node]),
    ) -> Self {
        let proxy = FaultProxy::before(server.port());
        let url = format!("postgres://petstore@127.0.0.1:{}/petstore", proxy.port());
        let mut nodes: Vec<_> = (0..count).map(|_| Node::new(name, &url)).collect();
        prepare(&mut nodes);
        Self::started(server, proxy, nodes, "petstore")
    }

    /// Starts nodes on a database of the server, which connect as this user. `hosts` returns the part of their URL that
    /// names the hosts, from the port of the proxy.
    pub(crate) fn with_hosts(
        server: Postgres,
        name: &str,
        count: usize,
        user: &str,
        database: &str,
        hosts: impl FnOnce(u16) -> String,
    ) -> Self {
        let proxy = FaultProxy::before(server.port());
        let url = format!("postgres://{user}@{}/{database}", hosts(proxy.port()));
        let nodes = (0..count).map(|_| Node::new(name, &url)).collect();
        Self::started(server, proxy, nodes, database)
    }

    fn started(server: Postgres, proxy: FaultProxy, mut nodes: Vec<Node>, database: &str) -> Self {
        nodes.iter_mut().for_each(Node::start);
        let url = format!("postgres://petstore@127.0.0.1:{}/{database}", server.port());
        let mut scene = Self { nodes, proxy, server, key: String::new(), url };
        scene.key = scene.new_key("trade");
        scene.stock();
        scene
    }

    /// Creates an account with a key without a quota.
    pub(crate) fn new_key(&self, account: &str) -> String {
        let max = i32::MAX.to_string();
        let plan = ["--account", account, "--plan", "enterprise", "--minute", &max, "--day", &max];
        let plan = [&plan[..], &["--scopes", "read,write,webhooks"]].concat();
        let args = [&["keys", "create", "--quiet", "--db", &self.url][..], &plan].concat();
        let output = self.nodes[0].site.run(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Gives each pet its units.
    fn stock(&self) {
        let mut client = self.client(0);
        for pet in 1..=PETS {
            let body = format!("{{\"quantity\":{STOCK}}}");
            let answer = client.ask("PATCH", &format!("/v1/inventory/{pet}"), "", &body).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }

    /// Connects to a node.
    pub(crate) fn client(&self, node: usize) -> Client {
        Client::connect(self.nodes[node].site.port, &self.key).unwrap()
    }

    pub(crate) fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.site.port).collect()
    }

    /// The ids of the processes of the nodes that run.
    pub(crate) fn process_ids(&mut self) -> Vec<u32> {
        let running = self.nodes.iter_mut().filter_map(|node| {
            let ended = node.has_ended();
            node.site.server.as_ref().filter(|_| !ended).map(std::process::Child::id)
        });
        running.collect()
    }
}
