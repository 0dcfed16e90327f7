//! A client that speaks HTTP/2 frame by frame, and a server for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

use crate::common::{Site, tools};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The setting SETTINGS_INITIAL_WINDOW_SIZE, which limits the body of each answer until the client opens the window.
pub(crate) const WINDOW: u16 = 4;

/// A client that sends and receives frames.
pub(crate) struct Client(pub(crate) StreamOwned<ClientConnection, TcpStream>);

/// A frame: type, flags, stream, payload.
pub(crate) type Frame = (u8, u8, u32, Vec<u8>);

impl Client {
    /// Connects with these settings.
    pub(crate) fn connect(port: u16, settings: &[(u16, u32)]) -> Self {
        let mut client = Self::connect_for(port, b"h2");
        client.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let settings: Vec<_> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        assert!(client.send(SETTINGS, 0, 0, &settings));
        client
    }

    /// Connects over TLS for this protocol. Sends nothing.
    pub(crate) fn connect_for(port: u16, protocol: &[u8]) -> Self {
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(StreamOwned::new(connection, stream))
    }

    /// Sends a frame. Returns whether the server still accepts frames.
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).and_then(|()| self.0.flush()).is_ok()
    }

    /// Returns the next frame; none if the server has closed the connection.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }

    /// Returns all frames that arrive until the server closes the connection.
    pub(crate) fn rest(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.next()).collect()
    }

    pub(crate) fn get(&mut self, stream: u32, path: &str) -> bool {
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &head(path))
    }

    /// Sends a request with a key. Returns the answer's body.
    pub(crate) fn ask(&mut self, stream: u32, request: (&str, &str, &str), key: &str) -> String {
        self.begin(stream, request, key);
        self.answer(stream)
    }

    /// Returns the body of the next answer on this stream.
    pub(crate) fn answer(&mut self, stream: u32) -> String {
        let frames = self.until_the_end_of(stream);
        let data = frames.into_iter().filter(|frame| (frame.0, frame.2) == (DATA, stream));
        String::from_utf8(data.flat_map(|(.., payload)| payload).collect()).unwrap()
    }

    /// Sends a request with a key: its method, path and body. Does not wait for the answer.
    pub(crate) fn begin(&mut self, stream: u32, (method, path, body): (&str, &str, &str), key: &str) {
        let mut fields = head_of(method, path);
        fields.extend(field("x-api-key", key));
        fields.extend(field("content-type", "application/json"));
        assert!(self.send(HEADERS, END_HEADERS, stream, &fields));
        assert!(self.send(DATA, END_STREAM, stream, body.as_bytes()));
    }

    /// Increases a flow-control window by this many bytes: the window of a stream, or that of the connection for stream
    /// 0.
    pub(crate) fn take(&mut self, stream: u32, bytes: u32) -> bool {
        self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
    }

    /// Returns all frames up to the end of an answer on this stream.
    pub(crate) fn until_the_end_of(&mut self, stream: u32) -> Vec<Frame> {
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

/// The header fields of a GET in uncompressed form (RFC 7541, section 6.2.2).
pub(crate) fn head(path: &str) -> Vec<u8> {
    head_of("GET", path)
}

fn head_of(method: &str, path: &str) -> Vec<u8> {
    let fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
    fields.iter().flat_map(|(name, value)| field(name, value)).collect()
}

pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|length| *length < 127).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// Returns the number of complete answers.
pub(crate) fn ended(frames: &[Frame]) -> usize {
    frames.iter().filter(|(kind, flags, ..)| *kind == DATA && flags & END_STREAM != 0).count()
}

/// Returns the number of body bytes.
pub(crate) fn taken(frames: &[Frame]) -> usize {
    frames.iter().filter(|(kind, ..)| *kind == DATA).map(|(.., payload)| payload.len()).sum()
}

/// Returns the number of answers that have begun.
pub(crate) fn begun(frames: &[Frame]) -> usize {
    frames.iter().filter(|(kind, ..)| *kind == HEADERS).count()
}

/// Returns the error code of a GOAWAY.
pub(crate) fn goaway(frames: &[Frame]) -> Option<u32> {
    let (.., payload) = frames.iter().rfind(|(kind, ..)| *kind == GOAWAY)?;
    payload.get(4..8).map(|code| u32::from_be_bytes(code.try_into().unwrap()))
}

/// Starts a server with `--db memory`.
pub(crate) fn serve(name: &str, args: &[&str]) -> Option<Site> {
    serve_a_file(name, &[&["--db", "memory"], args].concat())
}

/// Starts a server with a data file.
pub(crate) fn serve_a_file(name: &str, args: &[&str]) -> Option<Site> {
    if !tools::can_run("openssl", "version") {
        return None;
    }
    let mut site = Site::new(name);
    let args_of_openssl = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out \
                           cert.pem -subj /CN=localhost";
    let mut openssl = std::process::Command::new("openssl");
    let made = openssl.args(args_of_openssl.split_whitespace()).current_dir(&site.folder).output().unwrap();
    assert!(made.status.success());
    site.serve(&[&["--tls-cert", "cert.pem", "--tls-key", "key.pem"], args].concat(), &[]);
    Some(site)
}

/// Returns whether the server answers a new connection with 200, which is index 8 of the static table (RFC 7541,
/// appendix A).
pub(crate) fn is_well(site: &Site) -> bool {
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

/// A verifier that accepts any certificate, because these tests are about frames.
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
