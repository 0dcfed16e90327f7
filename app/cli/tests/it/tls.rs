//! TLS: versions, HTTP/2, a certificate that is renewed under load, wrong files.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Site, tools};

const TLS: [&str; 6] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--db", "memory"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a folder with a certificate; none if a tool is missing.
fn site(name: &str) -> Option<Site> {
    let can = tools::can_run("curl", "--version") && tools::can_run("openssl", "version");
    let site = can.then(|| Site::new(name))?;
    certify(&site.folder, "localhost");
    Some(site)
}

/// Creates a certificate for this machine, and its key.
fn certify(folder: &Path, name: &str) {
    let args =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out cert.pem";
    let subject = format!("/CN={name}");
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    openssl(
        folder,
        &[&args.split(' ').collect::<Vec<_>>()[..], &["-subj", &subject, "-addext", names]].concat(),
    );
}

fn openssl(folder: &Path, args: &[&str]) {
    let done = Command::new("openssl").args(args).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
}

/// Returns curl's HTTP version, status and number of connections for `/health`.
fn health(site: &Site, args: &[&str]) -> Output {
    let url = format!("https://localhost:{}/health", site.port);
    let told = "%{http_version} %{http_code} %{num_connects}\n";
    let fixed = ["-sS", "--max-time", "20", "--cacert", "cert.pem", "-o", "/dev/null", "-w", told];
    Command::new("curl").args(fixed).args(args).arg(url).current_dir(&site.folder).output().unwrap()
}

/// Returns the subject of the certificate in new handshakes.
fn subject(site: &Site) -> String {
    let address = format!("127.0.0.1:{}", site.port);
    let mut client = Command::new("openssl");
    client.args(["s_client", "-connect", &address]).stdin(Stdio::null()).stderr(Stdio::null());
    let told = text(&client.output().unwrap().stdout);
    let line = told.lines().find_map(|line| line.strip_prefix("subject="));
    line.unwrap_or_else(|| panic!("{told}")).replace(' ', "")
}

#[test]
fn tls_1_3_and_1_2_work_with_http_2() {
    let Some(mut site) = site("tls-versions") else { return };
    site.serve(&TLS, &[]);
    let cases: [(&[&str], &str); 4] = [
        (&["--tlsv1.3", "--http2"], "2 200 1\n"),
        (&["--tls-max", "1.2", "--http2"], "2 200 1\n"),
        (&["--tls-max", "1.2", "--http1.1"], "1.1 200 1\n"),
        (&["--tlsv1.3", "--no-alpn"], "1.1 200 1\n"),
    ];
    for (args, told) in cases {
        let output = health(&site, args);
        assert_eq!(text(&output.stdout), told, "{args:?}: {}", text(&output.stderr));
    }
    for version in ["-tls1", "-tls1_1"] {
        let address = format!("127.0.0.1:{}", site.port);
        let mut client = Command::new("openssl");
        client.args(["s_client", "-connect", &address, version, "-cipher", "DEFAULT@SECLEVEL=0"]);
        let output = client.stdin(Stdio::null()).output().unwrap();
        // The handshake must fail because of the server's alert, and not because the client itself refuses.
        let told = text(&output.stderr);
        assert!(
            ["alert protocol version", "alert handshake failure"].iter().any(|alert| told.contains(alert)),
            "{told}"
        );
    }
}

#[test]
fn a_scanner_finds_no_weakness() {
    let Some(mut site) = site("tls-scan").filter(|_| tools::can_run("sslscan", "--version")) else { return };
    site.serve(&TLS, &[]);
    let address = format!("127.0.0.1:{}", site.port);
    let told = text(&Command::new("sslscan").args(["--no-colour", &address]).output().unwrap().stdout);
    let begins = |words: &[&str]| -> Vec<&str> {
        told.lines().map(str::trim).filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
    };
    let versions: Vec<&str> =
        begins(&["SSLv", "TLSv"]).into_iter().filter(|line| line.ends_with(" enabled")).collect();
    assert_eq!(versions, ["TLSv1.2   enabled", "TLSv1.3   enabled"], "{told}");
    let ciphers = begins(&["Accepted", "Preferred"]);
    // Accepts only cipher suites with an ephemeral key exchange and authenticated encryption.
    let is_strong = |line: &&str| {
        let cipher = line.split_whitespace().nth(4).unwrap();
        ["TLS_", "ECDHE-"].iter().any(|begin| cipher.starts_with(begin))
            && ["_GCM_", "-GCM-", "CHACHA20"].iter().any(|mode| cipher.contains(mode))
    };
    assert!(ciphers.len() >= 6 && ciphers.iter().all(is_strong), "{told}");
    assert!(told.contains("Session renegotiation not supported"), "{told}");
}

#[test]
fn links_lead_back_to_https_and_one_connection_carries_many_requests() {
    let Some(mut site) = site("tls-links") else { return };
    let key = site.new_key();
    site.serve(&[&TLS[..], &["--demo", "300"]].concat(), &[("PETSTORE_INITIAL_KEY", &key)]);
    let base = format!("https://localhost:{}/v1", site.port);
    let authorization = format!("Authorization: Bearer {key}");
    let output = Command::new("curl")
        .args(["-sS", "-i", "--http2", "--cacert", "cert.pem", "-H", &authorization, &format!("{base}/pets")])
        .current_dir(&site.folder)
        .output()
        .unwrap();
    let answer = text(&output.stdout);
    assert!(
        answer.contains(&format!("link: <{base}/pets>; rel=\"first\", <{base}/pets?cursor=")),
        "{answer}"
    );

    // curl requests each pet on a separate stream, up to fifty at a time.
    let output = Command::new("curl")
        .args([
            "-sS",
            "--http2",
            "--parallel",
            "--parallel-immediate",
            "--cacert",
            "cert.pem",
            "--max-time",
            "30",
        ])
        .args(["-H", &authorization, "-o", "pet-#1", "-w", "%{http_version} %{http_code}\n"])
        .arg(format!("{base}/pets/[1-300]"))
        .current_dir(&site.folder)
        .output()
        .unwrap();
    let told = text(&output.stdout);
    assert_eq!(told.lines().filter(|line| *line == "2 200").count(), 300, "{told} {}", text(&output.stderr));
    for id in [1, 150, 300] {
        let pet = std::fs::read_to_string(site.folder.join(format!("pet-{id}"))).unwrap();
        assert!(pet.contains(&format!("\"id\":{id}}}")), "{pet}");
    }
}

#[test]
fn a_stream_of_events_is_sent_over_both_protocols_and_never_compressed() {
    let Some(mut site) = site("tls-events") else { return };
    let key = site.new_key();
    site.serve(&TLS, &[("PETSTORE_INITIAL_KEY", &key)]);
    let base = format!("https://localhost:{}/v1", site.port);
    let authorization = format!("Authorization: Bearer {key}");
    let curl = |args: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-i", "-N", "--max-time", "30", "--cacert", "cert.pem", "-H", &authorization]);
        text(&curl.args(args).current_dir(&site.folder).output().unwrap().stdout)
    };
    let begin = curl(&[&format!("{base}/events?sort=-id&limit=1")]);
    let begin = begin.lines().find_map(|line| line.strip_prefix("last-event-id: ")).expect("a place").trim();
    for name in ["Dogs", "Cats"] {
        let made = curl(&["--json", &format!("{{\"name\": \"{name}\"}}"), &format!("{base}/categories")]);
        assert!(made.contains(" 201 "), "{made}");
    }
    for (version, status) in [("--http2", "HTTP/2 200 "), ("--http1.1", "HTTP/1.1 200 OK")] {
        let url = format!("{base}/events/stream?after={begin}&limit=2");
        let answer = curl(&[version, "-H", "Accept-Encoding: gzip", &url]);
        assert!(answer.starts_with(status), "{answer}");
        assert!(!answer.contains("content-encoding"), "{answer}");
        assert_eq!(answer.matches("\"type\":\"category.created\"").count(), 2, "{answer}");
        assert!(answer.ends_with("\n\nevent: end\ndata: {\"reason\":\"limit\"}\n\n"), "{answer}");
    }
}

/// A guard that ends the load of the other threads when the guard is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_renewed_certificate_is_loaded_without_dropping_a_connection() {
    let Some(mut site) = site("tls-reload") else { return };
    site.serve(&TLS, &[]);
    assert_eq!(subject(&site), "CN=localhost");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The guard ends the load even if the test fails.
        let _end = End(&ended);
        // Each client fetches a URL a hundred times on one connection, and repeats this until the load ends.
        let clients: Vec<_> = ["--http2", "--http1.1"]
            .map(|version| {
                let (site, ended) = (&site, &ended);
                scope.spawn(move || {
                    let urls = vec![format!("https://localhost:{}/health", site.port); 100];
                    let mut answers = 0;
                    while !ended.load(Ordering::Relaxed) || answers == 0 {
                        let mut curl = Command::new("curl");
                        curl.args(["-sSk", "--fail", version, "--max-time", "30", "-w", "%{num_connects} "]);
                        for url in &urls {
                            curl.args(["-o", "/dev/null", url]);
                        }
                        let output = curl.output().unwrap();
                        assert!(output.status.success(), "{}", text(&output.stderr));
                        let told = text(&output.stdout);
                        assert_eq!(told.split(' ').filter(|connects| *connects == "1").count(), 1, "{told}");
                        answers += urls.len();
                    }
                    answers
                })
            })
            .into();
        for round in 0..5 {
            certify(&site.folder, &format!("round-{round}"));
            let output = site.run(&["reload", "--db", "memory"]);
            assert!(text(&output.stdout).contains("in force: a new certificate"), "{}", text(&output.stderr));
            assert_eq!(subject(&site), format!("CN=round-{round}"));
        }
        ended.store(true, Ordering::Relaxed);
        for client in clients {
            assert!(client.join().unwrap() >= 100);
        }
    });

    // A certificate and a key that do not match change nothing, and the message names both files.
    let good = std::fs::read(site.folder.join("key.pem")).unwrap();
    openssl(&site.folder, &["genpkey", "-algorithm", "ed25519", "-out", "key.pem"]);
    let output = site.run(&["reload", "--db", "memory"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("key.pem is not the key of cert.pem"), "{}", text(&output.stderr));
    assert_eq!(subject(&site), "CN=round-4");
    std::fs::write(site.folder.join("key.pem"), good).unwrap();
    certify(&site.folder, "by-signal");
    site.signal("-HUP");
    while subject(&site) != "CN=by-signal" {
        std::thread::yield_now();
    }
}

#[test]
fn wrong_files_make_the_start_fail_and_are_named() {
    let Some(site) = site("tls-wrong") else { return };
    openssl(&site.folder, &["genpkey", "-algorithm", "ed25519", "-out", "other.pem"]);
    openssl(&site.folder, &["pkey", "-in", "key.pem", "-out", "locked.pem", "-aes256", "-passout", "pass:x"]);
    // The older PEM form has another mark of an encrypted key.
    let locked = "pkey -in key.pem -out older.pem -traditional -aes256 -passout pass:x";
    openssl(&site.folder, &locked.split(' ').collect::<Vec<_>>());
    std::fs::write(site.folder.join("nonsense.pem"), "nonsense").unwrap();
    std::fs::write(site.folder.join("cut.pem"), "-----BEGIN CERTIFICATE-----\nMIIB\n").unwrap();
    let garbage = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n";
    std::fs::write(site.folder.join("garbage.pem"), garbage).unwrap();
    let cases = [
        ("cert.pem", "nowhere.pem", "nowhere.pem cannot be read"),
        ("nowhere.pem", "key.pem", "nowhere.pem cannot be read"),
        ("cert.pem", "other.pem", "other.pem is not the key of cert.pem"),
        ("cert.pem", "locked.pem", "locked.pem is encrypted"),
        ("cert.pem", "older.pem", "older.pem is encrypted"),
        ("cert.pem", "nonsense.pem", "nonsense.pem holds no private key"),
        ("cert.pem", "cert.pem", "cert.pem holds no private key"),
        ("nonsense.pem", "key.pem", "nonsense.pem holds no certificate"),
        ("key.pem", "key.pem", "key.pem holds no certificate"),
        ("cut.pem", "key.pem", "cut.pem cannot be read"),
        ("garbage.pem", "key.pem", "garbage.pem is not a certificate"),
    ];
    for (cert, key, why) in cases {
        let output = site.run(&["--db", "memory", "--tls-cert", cert, "--tls-key", key]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{cert} {key}: {message}");
        assert!(message.contains(why), "{cert} {key}: {message}");
    }
    for alone in [["--tls-cert", "cert.pem"], ["--tls-key", "key.pem"]] {
        let output = site.run(&alone);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("set both or none"), "{}", text(&output.stderr));
    }
}

/// Creates a certificate for the existing key, valid between two dates.
fn certify_between(folder: &Path, from: &str, to: &str) {
    let settings = "[ca]\ndefault_ca=dates\n[dates]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n\
                    default_md=sha256\npolicy=names\nx509_extensions=names3\nunique_subject=no\n\
                    [names]\ncommonName=supplied\n[names3]\nsubjectAltName=IP:127.0.0.1\n";
    for (name, text) in [("ca.cnf", settings), ("index", ""), ("serial", "01\n")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    openssl(folder, &["req", "-new", "-key", "key.pem", "-subj", "/CN=dates", "-out", "dates.csr"]);
    let sign = "ca -batch -notext -selfsign -config ca.cnf -keyfile key.pem -in dates.csr -out cert.pem";
    let dates = ["-startdate", from, "-enddate", to];
    openssl(folder, &[&sign.split(' ').collect::<Vec<_>>()[..], &dates].concat());
}

#[test]
fn a_certificate_that_is_expired_or_not_yet_valid_causes_a_warning() {
    let Some(mut site) = site("tls-dates") else { return };
    let args = ["--db", "memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let check = |site: &Site| site.run(&[&["check-config"], &args[..]].concat());
    let reload = |site: &Site| text(&site.run(&["reload", "--db", "memory"]).stdout);
    assert_eq!(text(&check(&site).stderr), "");
    site.serve(&args, &[]);
    for (from, to, why) in [
        ("190101000000Z", "200101000000Z", "expired on 2020-01-01T00:00:00.000Z"),
        ("21000101000000Z", "21010101000000Z", "is not valid before 2100-01-01T00:00:00.000Z"),
    ] {
        certify_between(&site.folder, from, to);
        let warning = format!("the certificate in cert.pem {why}: clients refuse it");
        let checked = check(&site);
        assert_eq!(
            (checked.status.code(), text(&checked.stderr)),
            (Some(0), format!("petstore: warning: {warning}\n"))
        );
        assert_eq!(reload(&site), format!("in force: a new certificate\nwarning: {warning}\n"));
        assert_eq!(subject(&site), "CN=dates");
        let log = site.log_of_start(
            &[&args[..], &["--admin-socket", "other.sock", "--listen", "127.0.0.1:0"]].concat(),
            &[],
        );
        assert!(log.contains(&format!("\"level\":\"warn\",\"message\":\"{warning}\"")), "{log}");
    }
    certify(&site.folder, "localhost");
    assert_eq!(reload(&site), "in force: a new certificate\n");
}

#[test]
fn a_health_check_uses_tls_with_a_tls_server() {
    let Some(mut site) = site("tls-healthcheck") else { return };
    site.serve(&TLS, &[]);
    let output = site.run(&["healthcheck", "--tls-cert", "cert.pem"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = site.command(&["healthcheck"]).env("PETSTORE_TLS_CERT", "cert.pem").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = site.run(&["healthcheck"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("if it uses TLS, name its --tls-cert"), "{}", text(&output.stderr));
}

#[test]
fn plain_http_is_refused_and_silent_clients_time_out() {
    let Some(mut site) = site("tls-clear") else { return };
    site.serve(&[&TLS[..], &["--head-timeout", "200ms"]].concat(), &[]);
    let connect = || {
        let stream = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    };
    let mut clear = connect();
    clear.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = vec![];
    clear.shutdown(std::net::Shutdown::Write).unwrap();
    clear.read_to_end(&mut answer).unwrap();
    // The server sends a fatal alert (record type 21, level 2), and then closes without a reset.
    assert_eq!((answer.first(), answer.get(5), answer.len()), (Some(&21), Some(&2), 7), "{answer:?}");

    let mut silent = connect();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    let mut half = connect();
    half.write_all(&[22, 3, 1, 0, 200, 1]).unwrap();
    assert_eq!(half.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_connection_ends_with_an_alert_and_no_reset() {
    let Some(mut site) = site("tls-ends") else { return };
    site.serve(&[&TLS[..], &["--head-timeout", "300ms", "--idle-timeout", "300ms"]].concat(), &[]);
    let address = format!("127.0.0.1:{}", site.port);
    let speak = |args: &[&str], said: &[u8]| {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-connect", &address, "-msg"]).args(args).stdin(Stdio::piped());
        let mut client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The client's input stays open, so the client runs until the server closes the connection.
        let mut held = client.stdin.take().unwrap();
        held.write_all(said).unwrap();
        let output = client.wait_with_output().unwrap();
        text(&[output.stdout, output.stderr].concat())
    };
    // The client offers no protocol that the server has (RFC 7301, section 3.2).
    for version in ["-tls1_2", "-tls1_3"] {
        let told = speak(&[version, "-alpn", "other"], b"");
        assert!(told.contains("no application protocol"), "{told}");
    }
    // The first connection sends no request, and the second sends an incomplete head that is too late.
    for said in [&b""[..], b"GET /health HTTP/1.1\r\n"] {
        let told = speak(&["-alpn", "http/1.1"], said);
        assert!(told.contains("close_notify") && !told.contains("unexpected eof"), "{told}");
    }
    // A key update (RFC 8446, section 4.6.3) does not count as the beginning of a request head, so the server does not
    // answer that the head is late.
    let told = speak(&["-tls1_3", "-alpn", "http/1.1"], b"k\n");
    assert!(told.contains("KeyUpdate") && !told.contains("408 Request Timeout"), "{told}");
}
