//! No log, error, metric or file may have a key, except the file for the first key; and none may have a refused body.
//! The binary is tested with every mistake that a client or an operator can make.

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::strace::{end, inject};
use crate::common::{Site, admin_channel, tools};

/// A text that is in every refused body.
const REFUSED: &str = "canary-of-a-refused-body";

/// A text in an accepted body. The search must find it in the data file, which shows that the search works.
const ACCEPTED: &str = "canary-of-an-accepted-body";

/// The file for the first key.
const KEY_FILE: &str = "first-key";

/// The public pages of the server.
const PAGES: [&str; 8] =
    ["/", "/health", "/ready", "/metrics", "/docs", "/openapi.yaml", "/openapi.json", "/nowhere"];

/// The number of characters of a key that lists and logs may show.
const PREFIX_LEN: usize = 12;

/// The number of consecutive characters behind that prefix that count as a leak.
const RUN: usize = 8;

struct Watched {
    site: Site,
    secrets: Vec<String>,
    /// The server's output.
    heard: Vec<u8>,
}

impl Watched {
    /// Starts a server that logs everything into its folder.
    fn serve(name: &str, args: &[&str]) -> Self {
        let mut site = Site::new(name);
        let log = fs::File::create(site.folder.join("log")).unwrap();
        let mut command = site.command(&["--log", "requests", "--initial-key-file", KEY_FILE]);
        command.args(args).stdout(fs::File::create(site.folder.join("out")).unwrap()).stderr(log);
        site.server = Some(command.spawn().unwrap());
        let mut watched = Self { site, secrets: Vec::new(), heard: Vec::new() };
        let log = watched.site.folder.join("log");
        let up = (0..400).any(|_| {
            std::thread::sleep(Duration::from_millis(25));
            fs::read_to_string(&log).is_ok_and(|log| log.contains("serving"))
        });
        assert!(up, "the server does not come up");
        let first = fs::read_to_string(watched.site.folder.join(KEY_FILE)).unwrap();
        watched.secrets.push(first.trim().to_owned());
        watched
    }

    /// Runs a command that may print a secret.
    fn new_secret(&mut self, args: &[&str]) -> String {
        let output = self.site.run(args);
        let secret = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert_eq!(secret.len(), 53, "{args:?}");
        self.heard.extend(output.stderr);
        self.secrets.push(secret.clone());
        secret
    }

    /// Runs a command that must not print a secret.
    fn run(&mut self, args: &[&str]) -> Option<i32> {
        let output = self.site.run(args);
        self.heard.extend([output.stdout, output.stderr].concat());
        output.status.code()
    }

    /// Sends bytes to the server. Returns the status of the answer, if any.
    fn send(&mut self, bytes: &str) -> Option<u16> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may close before it has read everything.
        let _ = stream.write_all(bytes.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let status = answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok()?.parse().ok());
        self.heard.extend(answer);
        status
    }

    fn ask(&mut self, line: &str, fields: &str, body: &str) -> Option<u16> {
        let length = body.len();
        self.send(&format!(
            "{line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Sends a request that presents the key correctly.
    fn with_key(&mut self, key: &str, line: &str, fields: &str, body: &str) -> Option<u16> {
        let fields = format!("Authorization: Bearer {key}\r\nContent-Type: application/json\r\n{fields}");
        self.ask(line, &fields, body)
    }

    /// Sends a line to the admin socket.
    fn ask_admin(&mut self, line: &str) {
        let mut stream = admin_channel::connect(self.site.folder.join("petstore.db.sock"));
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        self.heard.extend(answer);
    }

    /// Returns every place that could contain a secret, with its content.
    fn places(&self) -> Vec<(String, Vec<u8>)> {
        let process = self.site.server.as_ref().unwrap().id();
        let mut places = vec![("an answer".to_owned(), self.heard.clone())];
        for file in ["cmdline", "environ"] {
            let file = format!("/proc/{process}/{file}");
            places.push((file.clone(), fs::read(&file).unwrap_or_default()));
        }
        let mut files = Vec::new();
        files_in(&self.site.folder, &mut files);
        places.extend(
            files.into_iter().map(|file| (file.display().to_string(), fs::read(&file).unwrap_or_default())),
        );
        places
    }

    /// Searches every place for the secrets and for refused bodies.
    fn search(&mut self) {
        for page in PAGES {
            self.ask(&format!("GET {page}"), "", "");
        }
        let places = self.places();
        for file in ["log", "petstore.db", "petstore.db-wal", "petstore.db.lock", "copy.db", "export"] {
            let found = places.iter().find(|(place, _)| place.ends_with(&format!("/{file}")));
            assert!(found.is_some(), "{file} is not looked at");
        }
        for (place, content) in &places {
            assert!(!contains(content, REFUSED.as_bytes()), "a refused body is in {place}");
            // The file for the first key may have that key, which is the first of the secrets.
            let secrets = &self.secrets[usize::from(place.ends_with(KEY_FILE))..];
            assert_eq!(leak(content, secrets), None, "a key is in {place}");
        }
        let holds = |name: &str| {
            let mut content = places.iter().filter(|(place, _)| place.contains(name));
            content.any(|(_, content)| contains(content, ACCEPTED.as_bytes()))
        };
        assert!(holds("petstore.db") && holds("copy.db") && holds("export") && holds("an answer"));
    }
}

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_in(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Returns the text before the first occurrence of a part of a secret, if there is one.
fn leak(content: &[u8], secrets: &[String]) -> Option<String> {
    let runs: HashSet<_> =
        secrets.iter().flat_map(|secret| secret.as_bytes()[PREFIX_LEN..].windows(RUN)).collect();
    let at = content.windows(RUN).position(|part| runs.contains(part))?;
    Some(String::from_utf8_lossy(&content[at.saturating_sub(100)..at]).into_owned())
}

fn contains(content: &[u8], what: &[u8]) -> bool {
    content.windows(what.len()).any(|part| part == what)
}

#[test]
fn keys_and_refused_bodies_leak_nowhere() {
    let mut watched = Watched::serve("secrets", &["--body-max", "4096"]);
    let own = watched.secrets[0].clone();
    let other = watched.new_secret(&["keys", "create", "--account", "zoo", "--label", "ci", "--quiet"]);
    let unknown = watched.new_secret(&["keys", "generate"]);
    accept(&mut watched, &own);
    for key in [&own, &other, &unknown] {
        misplace(&mut watched, key, &own);
    }
    refuse(&mut watched, &own);
    administer(&mut watched, &other, &unknown);
    watched.search();

    watched.site.signal("-TERM");
    assert!(watched.site.server.as_mut().unwrap().wait().unwrap().success());
    // The server writes some output only when it stops, so the search is repeated. The server's temporary files may be
    // gone by now.
    for (place, content) in watched.places().iter().filter(|(place, _)| !place.ends_with(KEY_FILE)) {
        assert_eq!(leak(content, &watched.secrets), None, "a key is in {place}");
    }
    let log = fs::read_to_string(watched.site.folder.join("log")).unwrap();
    assert!(log.lines().count() > 50, "everything is logged: {log}");
}

fn accept(watched: &mut Watched, own: &str) {
    let category = format!(r#"{{"name":"Rabbits","description":"{ACCEPTED}"}}"#);
    assert_eq!(watched.with_key(own, "POST /v1/categories", "", &category), Some(201));
    let pet = r#"{"name":"Hazel","categoryId":1}"#;
    assert_eq!(watched.with_key(own, "POST /v1/pets", "Idempotency-Key: one\r\n", pet), Some(201));
    assert_eq!(watched.ask("GET /v1/pets", &format!("X-API-Key: {own}\r\n"), ""), Some(200));
}

/// Sends the key in every place in which a client may put it by mistake.
fn misplace(watched: &mut Watched, key: &str, own: &str) {
    for target in [
        format!("/v1/pets?api_key={key}"),
        format!("/v1/pets?cursor={key}"),
        format!("/v1/pets?name={key}&limit=0"),
        format!("/v1/pets/{key}"),
        format!("/v1/{key}"),
        format!("/{key}"),
        format!("/health?key={key}"),
        format!("http://{key}/v1/pets"),
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS", "TRACE", key] {
            watched.with_key(own, &format!("{method} {target}"), "", "");
            watched.ask(&format!("{method} {target}"), "", "");
        }
    }
    for field in [
        "Authorization: ",
        "Authorization: Basic ",
        "Authorization: bearer  ",
        "X-API-Key: ",
        "X-API-Key: x",
        "Cookie: key=",
        "Host: ",
        "If-Match: ",
        "If-None-Match: ",
        "If-Match: \"",
        "Idempotency-Key: \"",
        "X-Request-Id: ",
        "X-Request-Id: a.",
        "traceparent: ",
        "Origin: ",
        "Accept: ",
        "Content-Type: ",
        "Content-Encoding: ",
        "Transfer-Encoding: ",
        "Expect: ",
        "Upgrade: ",
        "Connection: ",
        "User-Agent: ",
        "Referer: http://h/?k=",
        "X-Forwarded-For: ",
        "Range: ",
        "",
    ] {
        let field = format!("{field}{key}\r\n");
        watched.with_key(own, "PATCH /v1/pets/1", &field, "{}");
        watched.with_key(own, "GET /v1/pets/1", &field, "");
        watched.ask("POST /v1/pets", &field, "{}");
    }
    for body in [
        format!(r#"{{"name":"x","categoryId":"{key}"}}"#),
        format!(r#"{{"name":"{key}","categoryId":99}}"#),
        format!(r#"{{"name":"x","categoryId":1,"status":"{key}"}}"#),
        format!("\"{key}"),
        key.to_owned(),
    ] {
        watched.with_key(own, "POST /v1/pets", "", &body);
        watched.ask("POST /v1/pets", "Content-Type: application/json\r\n", &body);
    }
    for malformed in [
        key.to_owned(),
        format!("{key}\r\n\r\n"),
        format!("GET /v1/pets HTTP/1.1\r\nAuthorization Bearer {key}\r\n\r\n"),
        format!("GET /v1/pets HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {key}\r\n {key}\r\n\r\n"),
        format!("GET /v1/pets HTTP/{key}\r\nHost: h\r\n\r\n"),
        format!("GET /v1/pets HTTP/1.1\r\nHost: h\r\nContent-Length: {key}\r\n\r\n"),
        format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", key.repeat(200)),
        format!("GET /v1/pets HTTP/1.1\r\nHost: h\r\nX-API-Key: {}\r\n\r\n", key.repeat(800)),
        format!("POST /v1/pets HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{key}\r\n"),
        format!("GET /v1/pets HTTP/1.1\r\nHost: h\r\nX-API-Key: {key}"),
    ] {
        watched.send(&malformed);
    }
}

/// Sends bodies that are refused, one for each reason.
fn refuse(watched: &mut Watched, own: &str) {
    let json = |member: &str| format!(r#"{{{member}:"{REFUSED}"}}"#);
    let named = format!(r#"{{"name":"{REFUSED}","categoryId":1}}"#);
    let cases = [
        ("POST /v1/pets", "", REFUSED.to_owned(), 400),
        ("POST /v1/pets", "", format!("{{\"name\":\"{REFUSED}"), 400),
        ("POST /v1/pets", "", json("\"categoryId\""), 400),
        ("POST /v1/pets", "", format!(r#"{{"name":"{REFUSED}","categoryId":99}}"#), 400),
        ("POST /v1/pets", "Content-Type: text/plain\r\n", named.clone(), 415),
        ("POST /v1/pets", "Content-Encoding: gzip\r\n", named.clone(), 415),
        ("POST /v1/pets", "Idempotency-Key: one\r\n", named.clone(), 422),
        ("POST /v1/pets", "", format!(r#"{{"name":"{}","categoryId":1}}"#, REFUSED.repeat(200)), 413),
        ("POST /v1/nowhere", "", named.clone(), 404),
        ("DELETE /v1/pets", "", named.clone(), 405),
        ("POST /v1/pets", "Accept: text/html\r\n", named.clone(), 406),
        ("PATCH /v1/pets/1", "If-Match: \"long-ago\"\r\n", json("\"name\""), 412),
        (
            "POST /v1/categories",
            "Idempotency-Key: two\r\n",
            format!(r#"{{"name":"rabbits","description":"{REFUSED}"}}"#),
            409,
        ),
        ("PATCH /v1/store/orders/1", "", json("\"shipDate\""), 400),
        ("PATCH /v1/inventory/1", "", json("\"quantity\""), 400),
    ];
    for (line, fields, body, expected) in cases {
        assert_eq!(watched.with_key(own, line, fields, &body), Some(expected), "{line} {fields}");
    }
    // A refused body without a key, and an incomplete body.
    assert_eq!(watched.ask("POST /v1/pets", "Content-Type: application/json\r\n", &named), Some(401));
    watched.send(&format!(
        "POST /v1/pets HTTP/1.1\r\nHost: h\r\nX-API-Key: {own}\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{named}"
    ));

    let outside = std::env::temp_dir().join(format!("petstore-refused-import-{}", std::process::id()));
    fs::write(&outside, format!("{{\"category\":{{\"name\":\"{REFUSED}\",\"id\":\"{REFUSED}\"}}}}\n"))
        .unwrap();
    // The error about the imported line is for the operator. The line must not be in the log.
    let import = watched.site.run(&["import", outside.to_str().unwrap()]);
    assert_eq!(import.status.code(), Some(1));
    fs::remove_file(outside).unwrap();
}

fn administer(watched: &mut Watched, other: &str, unknown: &str) {
    for line in [
        format!("{other}\n"),
        format!("{{\"ask\":\"{other}\"}}\n"),
        format!("{{\"ask\":\"show_key\",\"key\":\"{other}\"}}\n"),
        format!("{{\"ask\":\"show_key\",\"key\":\"{unknown}\"}}\n"),
        format!("{{\"ask\":\"lift_ban\",\"key\":\"{unknown}\"}}"),
        "{\"ask\":\"list_keys\",\"after\":null}\n".to_owned(),
        "{\"ask\":\"list_accounts\",\"after\":null}\n".to_owned(),
    ] {
        watched.ask_admin(&line);
    }
    let rotated = watched.new_secret(&["keys", "rotate", &other[..PREFIX_LEN], "--quiet"]);
    assert_eq!(watched.run(&["keys", "update", &rotated, "--label", "second", "--scopes", "read"]), Some(0));
    assert_eq!(watched.run(&["keys", "show", &rotated, "--json"]), Some(0));
    assert_eq!(watched.run(&["keys", "revoke", &rotated]), Some(0));
    assert_eq!(watched.with_key(&rotated, "GET /v1/pets", "", ""), Some(401), "it is revoked at once");
    assert_eq!(watched.run(&["keys", "show", unknown]), Some(1));
    assert_eq!(watched.run(&["keys", "list"]), Some(0));
    assert_eq!(watched.run(&["accounts", "list", "--json"]), Some(0));
    assert_eq!(watched.run(&["backup", "copy.db"]), Some(0));
    assert_eq!(watched.run(&["export", "export"]), Some(0));
    assert_eq!(watched.run(&["export", "-"]), Some(0));
}

#[test]
fn keys_and_bodies_do_not_leak_while_the_store_fails() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut watched = Watched::serve("failing", &[]);
    let own = watched.secrets[0].clone();
    let strace = inject("fsync,fdatasync:error=EIO", watched.site.server.as_ref().unwrap().id());
    let body = format!(r#"{{"name":"{REFUSED}","description":"{own}"}}"#);
    for _ in 0..3 {
        assert_eq!(watched.with_key(&own, "POST /v1/categories", "", &body), Some(503));
    }
    watched.ask("GET /ready", "", "");
    end(strace);
    watched.site.signal("-TERM");
    watched.site.server.as_mut().unwrap().wait().unwrap();
    let log = fs::read_to_string(watched.site.folder.join("log")).unwrap();
    assert!(log.contains("\"status\":503"), "{log}");
    assert!(!log.contains(REFUSED) && !log.contains(&own[PREFIX_LEN..]), "{log}");
    assert!(
        !contains(&watched.heard, REFUSED.as_bytes())
            && !contains(&watched.heard, &own.as_bytes()[PREFIX_LEN..])
    );
}
