//! Clients of the event stream as people use them, directly and through nginx with its default settings.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::nodes::Nodes;
use crate::common::{Client, Site, free_port, tools};

/// The number of changes. A stream of the clients ends after five events, so each client connects three times.
const CHANGES: usize = 12;

/// The maximum time until an event arrives. A client library waits three seconds before it connects again.
const ARRIVAL_MAX: Duration = Duration::from_secs(20);

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/streams")
}

/// The programs, each with its script. None if one is not installed.
fn clients() -> Option<Vec<(PathBuf, &'static str)>> {
    let python = tools::python("python");
    let has_package = |name: &str| {
        let found = tools::folder().join("node_modules").join(name).exists();
        found || {
            tools::skips::skip(&format!("there is no package {name}"));
            false
        }
    };
    let are_there = tools::can_run("curl", "--version")
        && tools::can_run("node", "--version")
        && has_package("eventsource")
        && tools::can_run(tools::python("httpx"), "--help");
    are_there.then(|| {
        vec![
            ("sh".into(), "curl.sh"),
            ("node".into(), "fetch.mjs"),
            ("node".into(), "eventsource.mjs"),
            (python.clone(), "httpx_lines.py"),
            (python, "httpx_sse_events.py"),
        ]
    })
}

/// A running client, and the numbers that it prints. The client is ended with the test.
struct Running {
    name: String,
    process: Child,
    numbers: Receiver<u64>,
}

impl Running {
    fn start(shop: &Shop, program: &Path, script: &str, port: u16) -> Self {
        // Node looks for modules in the folder of the script first, so the script is copied to a folder with a link to
        // the modules.
        let folder = shop.site.folder.join(format!("{script}-{port}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::copy(scripts().join(script), folder.join(script)).unwrap();
        petstore_test_servers::system::symlink(
            tools::folder().join("node_modules"),
            folder.join("node_modules"),
        )
        .unwrap();
        // Each client gets a key of a new account, because an account may have only five streams.
        let key =
            shop.site.run(&["keys", "create", "--plan", "business", "--quiet", "--db", &shop.db]).stdout;
        let mut command = Command::new(program);
        command.arg(script).current_dir(&folder).stdout(Stdio::piped());
        command.env("PETSTORE_URL", format!("http://127.0.0.1:{port}/v1"));
        command.env("PETSTORE_KEY", String::from_utf8(key).unwrap().trim()).env("AFTER", &shop.place);
        petstore_test_servers::system::own_group(&mut command);
        let mut process = command.spawn().unwrap();
        let lines: Lines<BufReader<ChildStdout>> = BufReader::new(process.stdout.take().unwrap()).lines();
        let (number, numbers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = number.send(line.parse().expect(&line));
            }
        });
        Self { name: format!("{script} at {port}"), process, numbers }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
        let _ = self.process.wait();
    }
}

struct Shop {
    site: Site,
    client: Client,
    /// The id of the last event in the log before the changes.
    place: String,
    db: String,
    /// The other nodes on the same database, and the proxy.
    _nodes: Option<Nodes>,
}

impl Shop {
    fn open(name: &str) -> Self {
        let mut site = Site::new(name);
        let key = site.new_key();
        site.serve(&["--db", "memory"], &[("PETSTORE_INITIAL_KEY", &key)]);
        Self::begun(Client::connect(site.port, &key).unwrap(), site, "memory".to_owned(), None)
    }

    /// Opens a shop on two nodes. Returns it with the port of the proxy that alternates requests.
    fn on_two_nodes(name: &str) -> Option<(Self, u16)> {
        let mut nodes = Nodes::start(name, 2, &[])?;
        let (site, port, db) = (nodes.sites.remove(0), nodes.proxy.port, nodes.url.clone());
        let client = Client::connect(port, &nodes.key).unwrap();
        Some((Self::begun(client, site, db, Some(nodes)), port))
    }

    fn begun(client: Client, site: Site, db: String, nodes: Option<Nodes>) -> Self {
        let mut shop = Self { client, site, place: String::new(), db, _nodes: nodes };
        shop.change(0);
        shop.last_event()["id"].as_str().unwrap().clone_into(&mut shop.place);
        shop
    }

    /// Creates a category, which is one event.
    fn change(&mut self, number: usize) {
        let body =
            json!({ "name": format!("Ñandú: \"{number}\"\u{2028}"), "description": "data: {\"id\"} id: 7" });
        let answer = self.client.ask("POST", "/v1/categories", "", &body.to_string()).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
    }

    fn last_event(&mut self) -> Value {
        let answer = self.client.ask("GET", "/v1/events?sort=-id&limit=1", "", "").unwrap();
        serde_json::from_str::<Value>(&answer.body).unwrap()[0].clone()
    }
}

/// Makes the changes one by one. Every client must receive the event of a change before the next change is made.
fn each_event_arrives_once_and_at_once(shop: &mut Shop, port: u16) {
    let Some(clients) = clients() else { return };
    let running: Vec<_> =
        clients.iter().map(|(program, script)| Running::start(shop, program, script, port)).collect();
    for number in 1..=CHANGES {
        shop.change(number);
        let expected = shop.last_event()["sequence"].as_u64().unwrap();
        for client in &running {
            let got = client.numbers.recv_timeout(ARRIVAL_MAX);
            assert_eq!(got, Ok(expected), "{}: change {number}", client.name);
        }
    }
}

#[test]
fn each_event_arrives_once_over_reconnects_of_real_clients() {
    let mut shop = Shop::open("streams-direct");
    let port = shop.site.port;
    each_event_arrives_once_and_at_once(&mut shop, port);
}

/// A client that connects again continues on the other node.
#[test]
fn each_event_arrives_once_over_reconnects_to_two_nodes() {
    let Some((mut shop, port)) = Shop::on_two_nodes("streams-nodes") else { return };
    each_event_arrives_once_and_at_once(&mut shop, port);
}

/// An nginx in the foreground, with the settings that it needs to run beside others. It is ended with the test.
struct Nginx(Child);

impl Nginx {
    fn before(shop: &Shop, port: u16) -> Self {
        let folder = shop.site.folder.display();
        let upstream = shop.site.port;
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
            .concat();
        let config = format!(
            "daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{}}
             http {{ access_log off; {temporary}
               server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }} }}"
        );
        let file = shop.site.folder.join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let nginx = Command::new("nginx").arg("-c").arg(&file).stderr(Stdio::null()).spawn().unwrap();
        let nginx = Self(nginx);
        let accepts = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(
            accepts,
            "{}",
            std::fs::read_to_string(shop.site.folder.join("nginx.log")).unwrap_or_default()
        );
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The worker processes of nginx end with this process.
        let _ = Command::new("kill").arg(self.0.id().to_string()).output();
        let _ = self.0.wait();
    }
}

#[test]
fn nginx_with_its_default_settings_passes_each_event_on_at_once() {
    if !tools::can_run("nginx", "-v") {
        return;
    }
    let mut shop = Shop::open("streams-nginx");
    let port = free_port();
    let nginx = Nginx::before(&shop, port);
    each_event_arrives_once_and_at_once(&mut shop, port);
    drop(nginx);
}
