//! HTTP/2 frame by frame: floods that have a name, a client that takes nothing, an orderly end.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use common::{Site, tools};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A client that speaks frames.
struct Client(StreamOwned<ClientConnection, TcpStream>);

/// A frame: its type, its flags, its stream, what it holds.
type Frame = (u8, u8, u32, Vec<u8>);

impl Client {
    /// Connects; these settings are the client's.
    fn connect(port: u16, settings: &[(u16, u32)]) -> Self {
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut client = Self(StreamOwned::new(connection, stream));
        client.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let settings: Vec<_> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        assert!(client.send(SETTINGS, 0, 0, &settings));
        client
    }

    /// Sends a frame. Says whether the server still takes any.
    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).and_then(|()| self.0.flush()).is_ok()
    }

    /// The next frame; none if the server has closed.
    fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }

    /// All frames until the server closes.
    fn rest(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn get(&mut self, stream: u32, path: &str) -> bool {
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &head(path))
    }

    /// The client takes so many bytes more: on this stream, or for 0 on all of them together.
    fn take(&mut self, stream: u32, bytes: u32) -> bool {
        self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
    }

    /// All frames until one on this stream ends an answer.
    fn until_the_end_of(&mut self, stream: u32) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next() {
            let ends = frame.2 == stream && frame.0 <= HEADERS && frame.1 & END_STREAM != 0;
            frames.push(frame);
            if ends {
                return frames;
            }
        }
        panic!("the server has closed: {frames:?}");
    }
}

/// The fields of a GET, none of them compressed (RFC 7541, section 6.2.2).
fn head(path: &str) -> Vec<u8> {
    let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
    fields.iter().flat_map(|(name, value)| field(name, value)).collect()
}

fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|length| *length < 127).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// The error code of a GOAWAY.
fn goaway(frames: &[Frame]) -> Option<u32> {
    let (.., payload) = frames.iter().rfind(|(kind, ..)| *kind == GOAWAY)?;
    payload.get(4..8).map(|code| u32::from_be_bytes(code.try_into().unwrap()))
}

fn serve(name: &str, args: &[&str]) -> Option<Site> {
    if !tools::can_run("openssl", "version") {
        return None;
    }
    let mut site = Site::new(name);
    let args_of_openssl = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out \
                           cert.pem -subj /CN=localhost";
    let mut openssl = std::process::Command::new("openssl");
    let made = openssl.args(args_of_openssl.split_whitespace()).current_dir(&site.folder).output().unwrap();
    assert!(made.status.success());
    site.serve(&[&["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--db", "memory"], args].concat(), &[]);
    Some(site)
}

/// Whether a new connection is served, and answers with 200 (RFC 7541, appendix A: index 8).
fn is_well(site: &Site) -> bool {
    let mut client = Client::connect(site.port, &[]);
    client.get(1, "/health");
    loop {
        match client.next() {
            Some((HEADERS, _, 1, fields)) => return fields.first() == Some(&0x88),
            Some(_) => {}
            None => return false,
        }
    }
}

#[test]
fn floods_end_their_own_connection_and_nothing_else() {
    let Some(site) = serve("http2-floods", &[]) else { return };
    assert!(is_well(&site));

    // A head without end (CVE-2024-27316).
    let mut client = Client::connect(site.port, &[]);
    client.send(HEADERS, END_STREAM, 1, &head("/health"));
    let filler: Vec<_> = (0..50).flat_map(|_| field("x-filler", &"x".repeat(100))).collect();
    let taken = (0..100_000).take_while(|_| client.send(CONTINUATION, 0, 1, &filler)).count();
    assert!(taken < 100_000, "the server read on");
    assert!(is_well(&site));

    // Requests that are given up at once (CVE-2023-44487), in one go so that they are not looked at in between.
    let mut client = Client::connect(site.port, &[]);
    let mut burst = vec![];
    for stream in (1..20_001_u32).step_by(2) {
        let fields = head("/health");
        burst.extend([0, 0, u8::try_from(fields.len()).unwrap(), HEADERS, END_STREAM | END_HEADERS]);
        burst.extend(stream.to_be_bytes());
        burst.extend(fields);
        burst.extend([0, 0, 4, RST_STREAM, 0]);
        burst.extend(stream.to_be_bytes());
        burst.extend(8_u32.to_be_bytes());
    }
    let _ = client.0.write_all(&burst);
    // ENHANCE_YOUR_CALM (RFC 9113, section 7).
    assert_eq!(goaway(&client.rest()), Some(11));
    assert!(is_well(&site));

    // Pings that nobody reads the answers to (CVE-2019-9512).
    let mut client = Client::connect(site.port, &[]);
    let _ = (0..20_000).all(|_| client.send(PING, 0, 0, b"12345678"));
    assert!(is_well(&site));
}

#[test]
fn a_client_that_shuts_its_windows_or_asks_nothing_is_let_go() {
    let waits = ["--write-timeout", "300ms", "--idle-timeout", "300ms"];
    let Some(site) = serve("http2-slow", &waits) else { return };
    // No window for any answer (CVE-2019-9517): the head comes, the body never can.
    let mut client = Client::connect(site.port, &[(4, 0)]);
    client.get(1, "/openapi.yaml");
    let frames = client.rest();
    assert!(frames.iter().any(|(kind, ..)| *kind == HEADERS), "{frames:?}");
    assert!(frames.iter().all(|(kind, .., payload)| *kind != DATA || payload.is_empty()), "{frames:?}");

    let mut silent = Client::connect(site.port, &[]);
    assert_eq!(goaway(&silent.rest()), Some(0), "it is told");
    // Half a head does not keep it either.
    let mut half = Client::connect(site.port, &[]);
    half.send(HEADERS, END_STREAM, 1, &head("/health"));
    assert!(half.rest().iter().all(|(kind, ..)| *kind != HEADERS));
}

/// How many answers have begun.
fn begun(frames: &[Frame]) -> usize {
    frames.iter().filter(|(kind, ..)| *kind == HEADERS).count()
}

#[test]
fn answers_that_nobody_takes_are_not_made_and_keep_no_connection() {
    const WINDOW: u16 = 4;
    let Some(site) = serve("http2-untaken", &["--write-timeout", "1s"]) else { return };
    // A hundred at once, of some 100 kB each, and no window for any.
    let mut client = Client::connect(site.port, &[(WINDOW, 0)]);
    client.take(0, 1 << 30);
    for stream in (1..200).step_by(2) {
        client.get(stream, "/openapi.yaml");
    }
    client.send(PING, 0, 0, b"are seen");
    let mut frames: Vec<_> =
        std::iter::from_fn(|| client.next().filter(|frame| frame.3 != b"are seen")).collect();
    assert!(begun(&frames) <= 8, "{} were made", begun(&frames));
    // Whoever takes them gets all of them.
    for stream in (1..200).step_by(2) {
        client.take(stream, 1 << 20);
    }
    let ended = |frames: &[Frame]| {
        frames.iter().filter(|(kind, flags, ..)| *kind == DATA && flags & END_STREAM != 0).count()
    };
    while ended(&frames) < 100 {
        frames.push(client.next().expect("all are answered"));
    }

    // Not even if the requests leave their ends open, so that each answer waits for that.
    let mut open = Client::connect(site.port, &[(WINDOW, 0)]);
    for stream in (1..200).step_by(2) {
        open.send(HEADERS, END_HEADERS, stream, &head("/openapi.yaml"));
    }
    let mut frames = vec![];
    while begun(&frames) == 0 {
        frames.push(open.next().expect("some are answered"));
    }
    open.send(PING, 0, 0, b"are seen");
    frames.extend(std::iter::from_fn(|| open.next().filter(|frame| frame.3 != b"are seen")));
    assert!(begun(&frames) <= 8, "{} were made", begun(&frames));

    // One that nobody takes ends the connection, whatever else is asked and taken on it.
    client.get(201, "/openapi.yaml");
    let told = (203..200_003).step_by(2).find_map(|stream| {
        client.get(stream, "/health");
        client.take(stream, 1 << 10);
        let frames = client.until_the_end_of(stream);
        goaway(&frames)
    });
    assert_eq!(told, Some(0), "it is told");
    assert!(is_well(&site));
}

#[test]
fn an_answer_to_a_body_that_nobody_reads_arrives_although_the_client_sends_on() {
    let Some(site) = serve("http2-refused", &[]).filter(|_| tools::can_run("curl", "--version")) else {
        return;
    };
    // More than is read before the answer, and than the windows take.
    std::fs::write(site.folder.join("body"), vec![b' '; 2_200_000]).unwrap();
    let url = format!("https://localhost:{}/v1/pets", site.port);
    let mut curl = std::process::Command::new("curl");
    curl.args([
        "-sk",
        "--http2",
        "--max-time",
        "20",
        "--data-binary",
        "@body",
        "-w",
        " %{http_version} %{http_code}",
        &url,
    ]);
    let output = curl.current_dir(&site.folder).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("\"missing_api_key\"") && told.ends_with(" 2 401"), "{told} {:?}", output.status);
}

#[test]
fn a_stop_is_told_and_what_was_asked_before_is_answered() {
    let Some(mut site) = serve("http2-drain", &[]) else { return };
    let mut client = Client::connect(site.port, &[]);
    client.get(1, "/health");
    while !matches!(client.next(), Some((DATA, ..))) {}
    client.get(3, "/docs");
    site.signal("-TERM");
    let frames = client.rest();
    assert_eq!(goaway(&frames), Some(0), "no error");
    let ended = |frame: &Frame| frame.2 == 3 && frame.1 & END_STREAM != 0;
    assert!(frames.iter().any(ended), "the answer came as a whole");
    assert!(site.server.as_mut().unwrap().wait().unwrap().success());
}

/// These tests are about frames: any certificate will do.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
