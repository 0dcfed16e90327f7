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
