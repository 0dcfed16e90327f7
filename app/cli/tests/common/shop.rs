//! A server with the shop of the contract's examples.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::Site;
use super::nodes::Nodes;

const STOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/example-shop.ndjson");

/// The shop, and a key for it.
pub struct ExampleShop {
    pub site: Site,
    pub key: String,
    /// The port for requests: that of the only server, or that of the proxy before several servers.
    port: u16,
    /// The other servers, and the proxy.
    _nodes: Option<Nodes>,
}

impl ExampleShop {
    /// Imports the shop as in `docs/import.md`, and serves it.
    pub fn open(name: &str) -> Self {
        Self::start(name, &["--db", "shop.db"], |site| {
            let imported = site.run(&["import", "--db", "shop.db", STOCK]);
            assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        })
    }

    /// Serves an empty shop.
    pub fn empty(name: &str) -> Self {
        Self::start(name, &["--db", "memory"], |_| ())
    }

    fn start(name: &str, args: &[&str], prepare: impl FnOnce(&Site)) -> Self {
        let mut site = Site::new(name);
        prepare(&site);
        let key = site.new_key();
        site.serve(args, &[("PETSTORE_INITIAL_KEY", &key)]);
        Self { port: site.port, site, key, _nodes: None }
    }

    /// Serves the imported shop, or an empty one, from PostgreSQL by several nodes behind a proxy that alternates
    /// requests. If PostgreSQL is not installed, reports the test as skipped and returns none.
    #[track_caller]
    pub fn on_nodes(name: &str, count: usize, is_empty: bool) -> Option<Self> {
        let mut nodes = Nodes::prepared(name, count, &[], |site, url| {
            if !is_empty {
                let imported = site.run(&["import", "--db", url, STOCK]);
                assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
            }
        })?;
        let (site, key, port) = (nodes.sites.remove(0), nodes.key.clone(), nodes.proxy.port);
        Some(Self { site, key, port, _nodes: Some(nodes) })
    }

    /// Returns the contract as JSON.
    pub fn contract(&self) -> Value {
        serde_json::from_str(&body_of(&self.send("GET /openapi.json HTTP/1.1\r\n", ""))).unwrap()
    }

    /// Returns the body at this path.
    pub fn read(&self, path: &str) -> String {
        body_of(&self.send(&format!("GET /v1{path} HTTP/1.1\r\nX-API-Key: {}\r\n", self.key), ""))
    }

    /// Sends a request with this request line and these fields, and returns the whole answer.
    pub fn send(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let frame =
            if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        write!(stream, "{head}host: localhost\r\nconnection: close\r\n{frame}\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

fn body_of(answer: &str) -> String {
    answer.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}
