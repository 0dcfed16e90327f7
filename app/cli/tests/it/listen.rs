//! `petstore listen` and `petstore webhooks verify` against the binary's own server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Client, Site};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The maximum time until a request arrives.
const ARRIVAL_MAX: Duration = Duration::from_mins(1);

/// A server, and a key for it.
struct Shop {
    site: Site,
    key: String,
    client: Client,
}

impl Shop {
    fn open(name: &str) -> Self {
        let mut site = Site::new(name);
        let key = site.new_key();
        site.serve(&["--db", "memory"], &[("PETSTORE_INITIAL_KEY", &key)]);
        let client = Client::connect(site.port, &key).unwrap();
        Self { site, key, client }
    }

    fn new_category(&mut self, name: &str) {
        let body = serde_json::json!({ "name": name }).to_string();
        let answer = self.client.ask("POST", "/v1/categories", "", &body).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
    }

    /// The id of the last event.
    fn last_id(&mut self) -> String {
        let page = self.client.ask("GET", "/v1/events?sort=-id&limit=1", "", "").unwrap().body;
        let page: Value = serde_json::from_str(&page).unwrap();
        page[0]["id"].as_str().unwrap().to_owned()
    }

    fn listen(&self, args: &[&str]) -> Command {
        let mut command = self.site.command(&[&["listen"], args].concat());
        command.env("PETSTORE_URL", format!("http://127.0.0.1:{}/v1", self.site.port));
        command.env("PETSTORE_KEY", &self.key).env("PETSTORE_WEBHOOK_SECRET", SECRET).stdin(Stdio::null());
        command
    }
}

/// A local program that answers each request with the next status, and repeats the last one.
struct Program {
    url: String,
    /// The head and the body of each request.
    requests: Receiver<(String, String)>,
}

impl Program {
    fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || serve(&listener, statuses, &sender));
        Self { url, requests }
    }

    fn next(&self) -> (String, String) {
        self.requests.recv_timeout(ARRIVAL_MAX).expect("a request")
    }
}

fn serve(listener: &TcpListener, statuses: &[u16], sender: &Sender<(String, String)>) {
    let mut statuses = statuses.iter().copied().peekable();
    for stream in listener.incoming() {
        let mut stream = BufReader::new(stream.unwrap());
        while let Some(request) = read(&mut stream) {
            let status = if statuses.len() > 1 { statuses.next() } else { statuses.peek().copied() };
            let answer = format!("HTTP/1.1 {} x\r\ncontent-length: 2\r\n\r\nhi", status.unwrap());
            if sender.send(request).is_err() || stream.get_mut().write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs `petstore webhooks verify` on a request.
fn verify(site: &Site, secret: &str, args: &[&str], request: &str) -> (Option<i32>, String, String) {
    let mut command = site.command(&[&["webhooks", "verify"], args].concat());
    command.env("PETSTORE_WEBHOOK_SECRET", secret).stdin(Stdio::piped());
    let mut process: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments reads nothing.
    let _ = process.stdin.take().unwrap().write_all(request.as_bytes());
    said(&process.wait_with_output().unwrap())
}

#[test]
fn events_are_posted_in_their_order_and_each_signature_verifies() {
    let mut shop = Shop::open("listen-order");
    shop.new_category("Zero");
    let program = Program::start(&[204]);
    let after = shop.last_id();
    for name in ["One", "Two", "Three"] {
        shop.new_category(name);
    }
    let output = shop.listen(&["--to", &program.url, "--after", &after, "--limit", "3"]).output().unwrap();
    let (code, printed, errors) = said(&output);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains(SECRET), "{errors}");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 3, "{printed}");
    for (line, (name, sequence)) in lines.iter().zip([("One", 2), ("Two", 3), ("Three", 4)]) {
        assert!(line.contains(&format!("  {sequence}  category.created  -> 204 (")), "{line}");
        let (head, body) = program.next();
        let event: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&event["data"]["name"], &event["sequence"]), (&name.into(), &sequence.into()));
        assert!(head.starts_with("POST /hook HTTP/1.1\r\n"), "{head}");
        for header in
            ["petstore-event: category.created", "petstore-attempt: 1", "content-type: application/json"]
        {
            assert!(head.contains(&format!("\r\n{header}\r\n")), "{head}");
        }
        assert!(head.contains(&format!("\r\nwebhook-id: {}\r\n", event["id"].as_str().unwrap())));
        let checked = verify(&shop.site, SECRET, &[], &format!("{head}{body}"));
        assert_eq!(checked, (Some(0), "valid\n".to_owned(), String::new()));
    }
}

#[test]
fn a_program_that_refuses_gets_the_event_again_before_the_next_one() {
    let mut shop = Shop::open("listen-retry");
    shop.new_category("Zero");
    let program = Program::start(&[500, 302, 200, 200]);
    let after = shop.last_id();
    for name in ["One", "Two"] {
        shop.new_category(name);
    }
    let to_end = ["--to", &program.url, "--after", &after, "--limit", "2", "--json"];
    let (code, printed, errors) = said(&shop.listen(&to_end).output().unwrap());
    assert_eq!(code, Some(0), "{errors}");
    let mut lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        assert!(line.as_object_mut().unwrap().remove("durationMs").unwrap().is_u64());
        let name = line["event"]["data"]["name"].take();
        line["event"] = name;
    }
    let expected = serde_json::json!([
        {"event": "One", "attempt": 1, "statusCode": 500, "error": "status", "nextAttemptMs": 1000},
        {"event": "One", "attempt": 2, "statusCode": 302, "error": "redirect", "nextAttemptMs": 2000},
        {"event": "One", "attempt": 3, "statusCode": 200},
        {"event": "Two", "attempt": 1, "statusCode": 200},
    ]);
    assert_eq!(Value::Array(lines), expected);
    let attempts: Vec<_> = (0..4)
        .map(|_| {
            let (head, body) = program.next();
            let id = serde_json::from_str::<Value>(&body).unwrap()["id"].clone();
            let number =
                head.lines().find_map(|line| line.strip_prefix("petstore-attempt: ")).unwrap().to_owned();
            (id, number)
        })
        .collect();
    assert_eq!([&*attempts[0].1, &*attempts[1].1, &*attempts[2].1, &*attempts[3].1], ["1", "2", "3", "1"]);
    assert!(attempts[0].0 == attempts[2].0 && attempts[2].0 != attempts[3].0);
}

#[test]
fn an_event_that_was_not_delivered_makes_the_exit_code() {
    let mut shop = Shop::open("listen-fails");
    shop.new_category("Zero");
    let after = shop.last_id();
    shop.new_category("One");
    let refusing = Program::start(&[500]);
    let limits = ["--after", &after, "--limit", "1", "--attempts", "2", "--to"];
    let (code, printed, errors) =
        said(&shop.listen(&[&limits[..], &[&refusing.url]].concat()).output().unwrap());
    assert_eq!((code, printed.lines().count()), (Some(1), 2), "{errors}");
    assert!(printed.contains("-> 500: failed") && printed.contains("it answered: hi"), "{printed}");
    assert!(errors.contains("1 of 1 events were not delivered"), "{errors}");

    let gone = Program::start(&[410]);
    let (code, printed, errors) = said(&shop.listen(&[&limits[..], &[&gone.url]].concat()).output().unwrap());
    assert_eq!((code, printed.lines().count()), (Some(1), 1), "{errors}");
    assert!(errors.contains("the program answered 410"), "{errors}");

    for (args, expected) in [
        (&["--to", "ftp://localhost:3000"][..], "expected a URL such as http://localhost:3000/hook"),
        (&["--to", "http://127.1/"], "host"),
        (&["--to", "http://localhost:1/", "--secret", "whsec_AA"], "expected a secret"),
        (&["--to", "http://localhost:1/", "--attempts", "0"], "1 to 1000"),
        (&[], "--to"),
    ] {
        let (code, _, errors) = said(&shop.listen(args).output().unwrap());
        assert_eq!(code, Some(2), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

#[test]
fn listening_continues_after_a_restart_of_the_server() {
    let mut site = Site::new("listen-restart");
    let key = site.new_key();
    site.serve(&[], &[("PETSTORE_INITIAL_KEY", &key)]);
    let client = Client::connect(site.port, &key).unwrap();
    let mut shop = Shop { site, key, client };
    shop.new_category("Zero");
    let program = Program::start(&[200]);
    let after = shop.last_id();
    // Without a scheme it is that of plain HTTP.
    let bare = program.url.strip_prefix("http://").unwrap();
    let mut command = shop.listen(&["--to", bare, "--after", &after, "--limit", "2"]);
    let listening = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    shop.new_category("One");
    assert!(program.next().1.contains("One"));
    let port = shop.site.port;
    shop.site.stop();
    shop.site.serve(&["--listen", &format!("127.0.0.1:{port}")], &[]);
    shop.client = Client::connect(shop.site.port, &shop.key).unwrap();
    shop.new_category("Two");
    assert!(program.next().1.contains("Two"));
    let (code, printed, errors) = said(&listening.wait_with_output().unwrap());
    assert_eq!((code, printed.lines().count()), (Some(0), 2), "{printed}{errors}");
}

#[test]
fn the_check_of_a_request_says_why_it_is_not_valid() {
    let site = Site::new("webhooks-verify");
    let signed = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\nwebhook-timestamp: 1614265330\n\
                  webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n";
    let body = "{\"test\": 2432232314}";
    let whole = format!("POST /hook HTTP/1.1\n{signed}\n{body}");
    let other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    for (secret, args, request, code, expected) in [
        (SECRET, &["--any-age"][..], &*whole, 0, "valid"),
        (SECRET, &[], &whole, 1, "stale: the signature is right"),
        (SECRET, &["--any-age"], &format!("{whole}\n"), 1, "body differs"),
        (SECRET, &["--any-age"], &whole.replace("2432232314", "1"), 1, "secret: "),
        (other, &["--any-age"], &whole, 1, "secret: "),
        (SECRET, &["--any-age"], &whole.replace("webhook-id", "x-id"), 1, "the header webhook-id is missing"),
        (SECRET, &["--any-age"], &whole.replace("v1,", "v9,"), 1, "v1,<base64>"),
        (SECRET, &["--any-age"], body, 2, "expected a request"),
        ("whsec_x", &["--any-age"], &whole, 2, "expected a secret"),
        ("", &["--any-age"], &whole, 2, "a secret is needed"),
        (SECRET, &["--file", "missing"], "", 2, "missing cannot be read"),
    ] {
        let (exit, printed, errors) = verify(&site, secret, args, request);
        assert_eq!(exit, Some(code), "{expected}: {errors}");
        assert!(format!("{printed}{errors}").contains(expected), "{expected}: {printed}{errors}");
    }
    let mut args = vec!["--any-age"];
    args.extend(signed.lines().flat_map(|header| ["--header", header]));
    assert_eq!(verify(&site, SECRET, &args, body).0, Some(0));
    // A request that is too long is not cut.
    let (exit, _, errors) = verify(&site, SECRET, &args, &" ".repeat((16 << 20) + 1));
    assert_eq!(exit, Some(2));
    assert!(errors.contains("standard input cannot be read: it has more than 16777216 bytes"), "{errors}");
}
