//! Receivers of webhooks that hang, answer slowly, never end or disconnect: the memory and the descriptors of the
//! server stay where they were. `PETSTORE_HOSTILE_SECONDS` sets the length, which is 3 seconds by default.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::alone;
use crate::common::{Client, Site};

/// The growth of the resident memory that is tolerated: that of the allocator.
const GROWTH_MAX: usize = 16 << 20;

/// The time until an attempt has ended, and its connection is closed.
const ATTEMPT_MAX: Duration = Duration::from_secs(20);

/// The number of requests for a test of one webhook that are sent at a time: as many as an account may have in progress.
const AT_A_TIME: usize = 4;

/// Sends these bytes after a request, and then `part` until the connection ends. Without a part it sends no more, and with a
/// pause it waits between two parts.
fn hostile(head: &'static str, part: &'static [u8], pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(head.as_bytes());
                while !part.is_empty() && stream.write_all(part).is_ok() {
                    std::thread::sleep(pause);
                }
                await_end(&mut stream);
            });
        }
    });
    url
}

/// Reads until the other side closes the connection.
fn await_end(stream: &mut TcpStream) {
    let mut rest = [0; 4_096];
    while let Ok(1..) = stream.read(&mut rest) {}
}

/// A receiver that closes each connection at once.
fn closing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    url
}

/// The resident memory in bytes, and the number of open descriptors.
fn of_process(site: &Site) -> (usize, usize) {
    let id = site.server.as_ref().unwrap().id();
    let pages = std::fs::read_to_string(format!("/proc/{id}/statm")).unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4_096, std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count())
}

#[test]
fn hostile_receivers_leave_the_memory_and_the_descriptors_of_the_server_where_they_were() {
    let _alone = alone();
    let length = std::env::var("PETSTORE_HOSTILE_SECONDS").ok().and_then(|told| told.parse().ok());
    let length = Duration::from_secs(length.unwrap_or(3));
    let (site, webhooks) = prepare();
    let attempts = AtomicUsize::new(0);
    // One round fills the caches of the allocator and of the runtime.
    attack(&site, &webhooks, Duration::ZERO, &attempts);
    settle(&site, 0);
    let (memory, descriptors) = of_process(&site);
    attack(&site, &webhooks, length, &attempts);
    settle(&site, descriptors);
    let (memory_after, descriptors_after) = of_process(&site);
    let count = attempts.load(Ordering::SeqCst);
    println!(
        "{count} attempts, {memory} then {memory_after} bytes, {descriptors} then {descriptors_after} descriptors"
    );
    assert!(descriptors_after <= descriptors, "{descriptors_after} descriptors, {descriptors} before");
    assert!(memory_after < memory + GROWTH_MAX, "{memory_after} bytes, {memory} before");
    assert!(count > webhooks.len() * AT_A_TIME, "{count} attempts");
}

/// Starts a server with a webhook for each kind of hostile receiver. Returns the path that requests a test of each,
/// with a key of its account.
fn prepare() -> (Site, Vec<(String, String)>) {
    let at_once = Duration::ZERO;
    let urls = [
        hostile("", b"", at_once),
        hostile("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", b"", at_once),
        hostile("HTTP/1.1 200 OK\r\n\r\n", &[b'a'; 4_096], at_once),
        hostile("HTTP/1.1 200 OK\r\n\r\n", b"a", Duration::from_millis(100)),
        hostile("HTTP/1.1 200 OK\r\n", b"x: yyyyyyyyyyyyyyyy\r\n", at_once),
        hostile("", b"HTTP/1.1 100 Continue\r\n\r\n", Duration::from_millis(1)),
        closing(),
    ];
    let mut site = Site::new("hostile-receivers");
    site.serve(&["--webhook-allow", "127.0.0.0/8"], &[]);
    let webhook = |(number, url): (usize, &String)| {
        let account = format!("hostile-{number}");
        let created = site.run(&[
            "keys",
            "create",
            "--quiet",
            "--account",
            &account,
            "--scopes",
            "read,write,webhooks",
            "--plan",
            "enterprise",
            "--minute",
            "2147483647",
            "--day",
            "2147483647",
        ]);
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let key = String::from_utf8(created.stdout).unwrap().trim().to_owned();
        let mut client = Client::connect(site.port, &key).unwrap();
        let made = client
            .ask("POST", "/v1/webhooks", "", &format!("{{\"url\":\"{url}\",\"types\":[\"key.banned\"]}}"))
            .unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
        let made: Value = serde_json::from_str(&made.body).unwrap();
        (format!("/v1/webhooks/{}/test", made["id"].as_str().unwrap()), key)
    };
    let webhooks = urls.iter().enumerate().map(webhook).collect();
    (site, webhooks)
}

/// Requests tests of all webhooks, several at a time, for this long and at least once each.
fn attack(site: &Site, webhooks: &[(String, String)], length: Duration, attempts: &AtomicUsize) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (path, key) in webhooks.iter().flat_map(|webhook| std::iter::repeat_n(webhook, AT_A_TIME)) {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut client = Client::connect(site.port, key).unwrap();
                client.wait_at_most(2 * ATTEMPT_MAX);
                loop {
                    let answer = client.ask("POST", path, "", "{}").unwrap();
                    // Either there is no status, or the body after it is cut.
                    let is_bounded = ["\"error\"", "\"responseCut\""].iter().any(|m| answer.body.contains(m));
                    assert!(answer.status == 200 && is_bounded, "{}", answer.body);
                    attempts.fetch_add(1, Ordering::SeqCst);
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        std::thread::sleep(length);
        is_over.store(true, Ordering::SeqCst);
    });
}

/// Waits until the descriptors are at most as many as expected, or have not changed for some time.
fn settle(site: &Site, expected: usize) {
    let (mut last, mut unchanged) = (usize::MAX, 0);
    for _ in 0..600 {
        let (_, descriptors) = of_process(site);
        if descriptors <= expected || unchanged > 20 {
            return;
        }
        unchanged = if descriptors == last { unchanged + 1 } else { 0 };
        last = descriptors;
        std::thread::sleep(Duration::from_millis(50));
    }
}
