//! The admin socket as its protocol has it: a connection to it, and a server of a test in its place. Built with
//! `--cfg petstore_portable`, the binary uses a loopback connection with a proof at each end, and so do the tests.

use std::path::Path;

/// A connection between a command and the server.
pub type Stream = system::Stream;

/// A connection to the server behind an admin socket.
pub fn connect(socket: impl AsRef<Path>) -> Stream {
    system::connect(socket.as_ref())
}

/// A server of a test in the place of a petstore.
pub struct Listener(system::Listener);

impl Listener {
    pub fn bind(socket: impl AsRef<Path>) -> Self {
        Self(system::Listener::bind(socket.as_ref()))
    }

    pub fn accept(&self) -> Stream {
        self.0.accept()
    }
}

#[cfg(not(petstore_portable))]
mod system {
    use std::path::Path;

    pub use std::os::unix::net::UnixStream as Stream;

    pub fn connect(socket: &Path) -> Stream {
        Stream::connect(socket).unwrap()
    }

    pub struct Listener(std::os::unix::net::UnixListener);

    impl Listener {
        pub fn bind(socket: &Path) -> Self {
            Self(std::os::unix::net::UnixListener::bind(socket).unwrap())
        }

        pub fn accept(&self) -> Stream {
            self.0.accept().unwrap().0
        }
    }
}

#[cfg(petstore_portable)]
mod system {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::path::Path;

    use hmac::{Hmac, KeyInit, Mac};
    use serde_json::{Value, json};

    pub use std::net::TcpStream as Stream;

    /// The number of bytes of a secret, of a nonce and of a proof.
    const BYTES: usize = 32;

    /// The nonces of the tests. A proof is checked, not its chance.
    const NONCE: [u8; BYTES] = [9; BYTES];

    fn proof(secret: &[u8], end: &str, of_client: &[u8], of_server: &[u8]) -> Vec<u8> {
        let mut prover = Hmac::<sha2::Sha256>::new_from_slice(secret).unwrap();
        for part in [format!("petstore {end}").as_bytes(), of_client, of_server] {
            prover.update(part);
        }
        prover.finalize().into_bytes().to_vec()
    }

    pub fn connect(file: &Path) -> Stream {
        let place: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let secret: Vec<u8> = serde_json::from_value(place["secret"].clone()).unwrap();
        let port = u16::try_from(place["port"].as_u64().unwrap()).unwrap();
        let mut stream = Stream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(&NONCE).unwrap();
        let mut reply = [0; 2 * BYTES];
        stream.read_exact(&mut reply).unwrap();
        let (of_server, proven) = reply.split_at(BYTES);
        assert_eq!(
            proven,
            proof(&secret, "server", &NONCE, of_server),
            "the server proves that it knows the secret"
        );
        stream.write_all(&proof(&secret, "client", &NONCE, of_server)).unwrap();
        stream
    }

    pub struct Listener(TcpListener);

    impl Listener {
        const SECRET: [u8; BYTES] = [5; BYTES];

        pub fn bind(file: &Path) -> Self {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            std::fs::write(file, json!({"port": port, "secret": Self::SECRET}).to_string()).unwrap();
            Self(listener)
        }

        pub fn accept(&self) -> Stream {
            let mut stream = self.0.accept().unwrap().0;
            let mut of_client = [0; BYTES];
            stream.read_exact(&mut of_client).unwrap();
            let own = proof(&Self::SECRET, "server", &of_client, &NONCE);
            stream.write_all(&[&NONCE[..], &own].concat()).unwrap();
            let mut proven = [0; BYTES];
            stream.read_exact(&mut proven).unwrap();
            assert_eq!(proven[..], proof(&Self::SECRET, "client", &of_client, &NONCE)[..]);
            stream
        }
    }
}
