//! `petstore events tail` against the binary's own server.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

use crate::common::{Client, Site, tools};

/// A server, and a key for it.
struct Shop {
    site: Site,
    key: String,
    client: Client,
}

impl Shop {
    fn open(name: &str, args: &[&str]) -> Self {
        let mut site = Site::new(name);
        let key = site.new_key();
        site.serve(&[&["--db", "memory"], args].concat(), &[("PETSTORE_INITIAL_KEY", &key)]);
        let client = Client::connect(site.port, &key).unwrap();
        Self { site, key, client }
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> String {
        let answer = self.client.ask(method, path, "", body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.body);
        answer.body
    }

    fn new_category(&mut self, name: &str) {
        self.send("POST", "/v1/categories", &serde_json::json!({ "name": name }).to_string());
    }

    /// The id of the last event.
    fn last_id(&mut self) -> String {
        let page: Value = serde_json::from_str(&self.send("GET", "/v1/events?sort=-id&limit=1", "")).unwrap();
        page[0]["id"].as_str().unwrap().to_owned()
    }

    /// The command `petstore events tail`, with the key in its variable.
    fn tail(&self, args: &[&str]) -> Command {
        let mut command = self.site.command(&[&["events", "tail"], args].concat());
        command.env("PETSTORE_URL", format!("http://127.0.0.1:{}/v1", self.site.port));
        command.env("PETSTORE_KEY", &self.key).stdin(Stdio::null());
        command
    }
}

/// A running command, and the lines that it prints. It is ended with the test.
struct Running {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn next(&mut self) -> String {
        self.lines.next().expect("a line").unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn events_are_printed_from_a_place_on_up_to_a_number() {
    let mut shop = Shop::open("tail-after", &[]);
    shop.new_category("Rabbits");
    let first = shop.last_id();
    shop.send("POST", "/v1/pets", r#"{"name":"Hazel","categoryId":1}"#);
    shop.send("POST", "/v1/store/orders", r#"{"petId":1}"#);
    let output = shop.tail(&["--after", &first, "--limit", "2"]).output().unwrap();
    let (code, printed, errors) = said(&output);
    assert_eq!((code, &*errors), (Some(0), ""), "{printed}");
    let lines: Vec<_> = printed.lines().map(|line| line.split("  ").collect::<Vec<_>>()).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert_eq!(lines[0][1..], ["2", "pet.created", "name=\"Hazel\" categoryId=1 status=\"available\" id=1"]);
    assert_eq!(lines[1][1..], ["3", "order.placed", "id=1 petId=1 quantity=1 complete=false"]);
    assert!(lines[0][0].ends_with('Z') && lines[0][0].len() == 24, "{printed}");

    // The command prints the same events as the list does with the same filter.
    let arguments = ["--after", &first, "--types", "pet.*,category.deleted", "--limit", "2", "--json"];
    let (code, printed, _) = said(&shop.tail(&arguments).output().unwrap());
    assert_eq!(code, Some(0));
    let listed: Value = serde_json::from_str(&shop.send("GET", "/v1/events?type=pet.*", "")).unwrap();
    let printed: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.as_array().unwrap(), &printed);
    assert_eq!(printed[1]["previous"]["status"], "available");
}

#[test]
fn new_events_are_printed_as_they_happen_and_after_a_restart_of_the_connection() {
    let mut shop = Shop::open("tail-live", &[]);
    shop.new_category("Old");
    let before = shop.last_id();
    let mut tail = Running::start(&mut shop.tail(&["--after", &before]));
    for number in 0..120 {
        shop.new_category(&format!("Live {number}"));
    }
    for number in 0..120 {
        let line = tail.next();
        assert!(line.contains(&format!("name=\"Live {number}\"")), "{number}: {line}");
    }
    // The command is waiting for an event, and this event ends its wait.
    shop.new_category("Later");
    assert!(tail.next().contains("name=\"Later\""));
}

#[test]
fn a_server_that_refuses_for_a_while_is_waited_for() {
    let mut shop = Shop::open("tail-waits", &["--sandbox"]);
    shop.new_category("One");
    let first = shop.last_id();
    shop.new_category("Two");
    for (status, seconds) in [(503, 1), (429, 1)] {
        let faults = format!(
            r#"{{"faults":[{{"route":"/events","first":1,"status":{status},"retryAfter":{seconds}}}]}}"#
        );
        shop.send("PUT", "/sandbox/faults", &faults);
        let (code, printed, errors) =
            said(&shop.tail(&["--after", &first, "--limit", "1"]).output().unwrap());
        assert_eq!((code, printed.lines().count()), (Some(0), 1), "{status}: {errors}");
        let lines: Vec<_> = errors.lines().collect();
        assert_eq!(lines.len(), 2, "{errors}");
        assert!(
            lines[0].ends_with("next attempt in 1.0 s") && lines[1].ends_with("answers again"),
            "{errors}"
        );
    }
}

#[test]
fn a_place_of_another_epoch_ends_the_command_with_the_way_to_begin_again() {
    let mut shop = Shop::open("tail-expired", &["--sandbox"]);
    shop.new_category("One");
    let first = shop.last_id();
    shop.send("POST", "/sandbox/reset", "");
    let (code, printed, errors) = said(&shop.tail(&["--after", &first]).output().unwrap());
    assert_eq!((code, &*printed), (Some(1), ""), "{errors}");
    assert!(errors.contains("/events?sort=-id&limit=1") && errors.contains("--after"), "{errors}");

    // A command that waits for events also notices the new epoch. It then fails, and the error has the id of the last
    // event that it printed.
    shop.new_category("Two");
    let second = shop.last_id();
    let mut tail = Running::start(&mut shop.tail(&["--after", &second]));
    shop.new_category("Three");
    assert!(tail.next().contains("Three"));
    let third = shop.last_id();
    shop.send("POST", "/sandbox/reset", "");
    assert_eq!(tail.process.wait().unwrap().code(), Some(1));
    let errors = std::io::read_to_string(tail.process.stderr.take().unwrap()).unwrap();
    assert!(errors.contains(&format!("the last event printed was {third}")), "{errors}");
}

#[test]
fn the_key_comes_from_a_flag_a_file_or_the_variable() {
    let mut shop = Shop::open("tail-keys", &[]);
    shop.new_category("One");
    let first = shop.last_id();
    shop.new_category("Two");
    let arguments = ["--after", &first, "--limit", "1"];
    std::fs::write(shop.site.folder.join("key"), format!("{}\n", shop.key)).unwrap();
    std::fs::write(shop.site.folder.join("empty"), "\n").unwrap();
    let with = |more: &[&str], key: &str| {
        let arguments = [&arguments[..], more].concat();
        said(&shop.tail(&arguments).env("PETSTORE_KEY", key).output().unwrap())
    };
    assert_eq!(with(&["--key-file", "key"], "").0, Some(0));
    assert_eq!(with(&["--key-file", "key"], "pet_wrong").0, Some(0), "the file wins");
    assert_eq!(with(&["--key", &shop.key], "pet_wrong").0, Some(0), "the flag wins");
    for (more, key, code, expected) in [
        (&[][..], "", 2, "set PETSTORE_KEY"),
        (&["--key-file", "empty"], "", 2, "the file holds no key"),
        (&["--key-file", "missing"], "", 2, "No such file"),
        (&["--key", " "], "", 2, "--key: it is empty"),
        (&["--key", "pet_wrong"], "", 1, "refuses the API key (401)"),
        (&["--key", "a", "--key-file", "key"], "", 2, "cannot be used with"),
        (&[], "pet_wrong", 1, "refuses the API key (401)"),
        (&[], "new\nline", 2, "has characters that no key has"),
    ] {
        let (status, printed, errors) = with(more, key);
        assert_eq!((status, &*printed), (Some(code), ""), "{more:?}: {errors}");
        assert!(errors.contains(expected), "{more:?}: {errors}");
    }
}

#[test]
fn a_wrong_url_or_query_is_told_at_once() {
    let shop = Shop::open("tail-wrong", &[]);
    let port = shop.site.port;
    for (arguments, code, expected) in [
        (vec!["--server", "http://127.0.0.1:9/v1"], 1, "no server listens there"),
        (vec!["--server", &format!("http://127.0.0.1:{port}")], 1, "check the base URL"),
        (vec!["--server", &format!("http://127.0.0.1:{port}/docs")], 1, "check the base URL"),
        (vec!["--server", &format!("https://127.0.0.1:{port}/v1")], 1, "does not speak TLS"),
        (vec!["--server", "127.0.0.1:8080"], 2, "expected a base URL"),
        (vec!["--types", "dragon.*"], 1, "type must be types of events"),
        (vec!["--types", "Pet Created"], 2, "expected types such as"),
        (vec!["--after", "evt_x"], 2, "must be an id of an event"),
        (vec!["--limit", "0"], 2, "expected a number from 1"),
    ] {
        let (status, printed, errors) = said(&shop.tail(&arguments).output().unwrap());
        assert_eq!((status, &*printed), (Some(code), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_server_that_stops_is_connected_to_again() {
    let mut shop = Shop::open("tail-restart", &[]);
    shop.new_category("One");
    let first = shop.last_id();
    let mut tail = Running::start(&mut shop.tail(&["--after", &first]));
    shop.new_category("Two");
    assert!(tail.next().contains("Two"));
    shop.site.stop();
    let mut errors = BufReader::new(tail.process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("next attempt in") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "it ended before its next attempt");
    }
    // The log of a store in memory ends with the server, so the next server's log has another epoch.
    shop.site.serve(&["--db", "memory"], &[("PETSTORE_INITIAL_KEY", &shop.key)]);
    assert_eq!(tail.process.wait().unwrap().code(), Some(1));
    let rest = std::io::read_to_string(errors).unwrap();
    assert!(rest.contains("To begin again"), "{rest}");
}

#[test]
fn events_are_read_from_the_file_beside_its_server_and_after_it() {
    let mut site = Site::new("tail-file");
    let key = site.new_key();
    site.serve(&["--demo", "2"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let mut shop = Shop { client: Client::connect(site.port, &key).unwrap(), key, site };
    shop.new_category("One");
    let first = shop.last_id();
    let arguments = ["--db", "petstore.db", "--json", "--after", &first];
    let mut tail = Running::start(&mut shop.tail(&arguments));
    shop.new_category("Two");
    shop.send("POST", "/v1/store/orders", r#"{"petId":1}"#);
    let listed: Value =
        serde_json::from_str(&shop.send("GET", &format!("/v1/events?after={first}"), "")).unwrap();
    let listed = listed.as_array().unwrap();
    assert!(listed.len() > 2, "{listed:?}");
    for event in listed {
        assert_eq!(serde_json::from_str::<Value>(&tail.next()).unwrap(), *event, "as the API has it");
    }
    drop(tail);

    // The same events are read from a file without a server, with a filter and as text.
    shop.site.stop();
    let arguments = ["--db", "petstore.db", "--after", &first, "--types", "order.*", "--limit", "1"];
    let (code, printed, errors) = said(&shop.tail(&arguments).output().unwrap());
    assert_eq!((code, &*errors), (Some(0), ""));
    assert!(printed.ends_with("  order.placed  id=1 petId=1 quantity=1 complete=false\n"), "{printed}");
    let foreign = "evt_0000000000000000000001";
    std::fs::write(shop.site.folder.join("text.db"), "no database").unwrap();
    for (arguments, code, expected) in [
        (["--db", "petstore.db", "--after", foreign], 1, "The oldest place in it is evt_"),
        (["--db", "petstore.db", "--types", "dragon.*"], 2, "is no type of events"),
        (["--db", "missing.db", "--limit", "1"], 1, "the file does not exist"),
        (["--db", "text.db", "--limit", "1"], 1, "text.db"),
        (["--db", "memory", "--limit", "1"], 2, "name its server with --server"),
        (["--db", "petstore.db", "--key-file", "key"], 2, "cannot be used with"),
        (["--db", "petstore.db", "--key", "key"], 2, "cannot be used with"),
    ] {
        let (status, printed, errors) = said(&shop.tail(&arguments).output().unwrap());
        assert_eq!((status, &*printed), (Some(code), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn nothing_from_a_name_acts_on_the_terminal() {
    let mut shop = Shop::open("tail-escapes", &[]);
    shop.new_category("One");
    let first = shop.last_id();
    shop.new_category("\u{202e}gpj.exe \u{2066}x\u{2069}");
    for form in [&[][..], &["--json"]] {
        let arguments = [&["--after", &first, "--limit", "1"], form].concat();
        let (code, printed, errors) = said(&shop.tail(&arguments).output().unwrap());
        assert_eq!(code, Some(0), "{errors}");
        let line = printed.strip_suffix('\n').unwrap();
        assert!(line.contains("202e") && line.contains("gpj.exe"), "{line:?}");
        let acts = |c: char| c.is_control() || ['\u{202e}', '\u{2066}', '\u{2069}'].contains(&c);
        assert!(!line.contains(acts), "{line:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_command() {
    let mut shop = Shop::open("tail-head", &[]);
    shop.new_category("One");
    let first = shop.last_id();
    (0..3).for_each(|number| shop.new_category(&format!("Next {number}")));
    let mut tail = Running::start(&mut shop.tail(&["--after", &first]));
    assert!(tail.next().contains("Next 0"));
    // The test closes its end of the command's output, as a reader does that needs no more events.
    let Running { process, lines } = &mut tail;
    let mut rest = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    rest.wait().unwrap();
    let closed = std::mem::replace(lines, BufReader::new(open_pipe()).lines());
    drop(closed);
    shop.new_category("One more");
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

/// Returns the output of a process that has ended. A test that closes the pipe of its command needs another pipe in the
/// same field.
fn open_pipe() -> ChildStdout {
    let mut process = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    process.wait().unwrap();
    process.stdout.take().unwrap()
}

#[test]
fn the_certificate_of_a_server_is_checked() {
    if !tools::can_run("openssl", "version") {
        return;
    }
    let mut site = Site::new("tail-tls");
    let key = site.new_key();
    for words in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=Ours",
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out request.pem -subj /CN=localhost",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out cert.pem -extfile names",
    ] {
        std::fs::write(site.folder.join("names"), "subjectAltName = DNS:localhost").unwrap();
        let made = Command::new("openssl").args(words.split(' ')).current_dir(&site.folder).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let arguments = ["--db", "memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--demo", "1"];
    site.serve(&arguments, &[("PETSTORE_INITIAL_KEY", &key)]);
    let tail = |host: &str, trusted: &str, more: &[&str]| {
        let url = format!("https://{host}:{}/v1", site.port);
        let mut command = site.command(&[&["events", "tail", "--server", &url], more].concat());
        command.env("PETSTORE_KEY", &key).env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
        said(&command.output().unwrap())
    };
    // No event has this type. The server's error about it shows that the certificate was accepted.
    let unknown = &["--types", "dragon.*"];
    let (code, _, errors) = tail("localhost", "ca.pem", unknown);
    assert!(code == Some(1) && errors.contains("must be types of events"), "{errors}");
    for (host, trusted, expected) in [
        ("127.0.0.1", "ca.pem", "is not trusted"),
        ("localhost", "/etc/ssl/certs/ca-certificates.crt", "is not trusted"),
        ("localhost", "key.pem", "no trusted certificate was found"),
        ("localhost", "missing.pem", "no trusted certificate was found"),
    ] {
        let (code, _, errors) = tail(host, trusted, unknown);
        assert!(code == Some(1) && errors.contains(expected), "{host} {trusted}: {errors}");
    }
}
