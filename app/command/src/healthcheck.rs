//! `petstore healthcheck`: for container images without curl.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::http_client::{ApiClient, NoAnswer, PROBE_TIME};
use crate::runtime::single_threaded;
use crate::settings::expected::address;

/// The address of /ready.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    /// Address that the server serves on
    #[arg(long, env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080", value_parser = address, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,

    /// Separate address for /health and /ready, if the server has one
    #[arg(long, env = "PETSTORE_OPS_LISTEN", value_parser = address, value_name = "ADDRESS:PORT")]
    ops_listen: Option<SocketAddr>,

    /// Certificate of the server, if it uses TLS
    #[arg(long, env = "PETSTORE_TLS_CERT", value_parser = crate::settings::expected::file(), value_name = "FILE")]
    tls_cert: Option<PathBuf>,
}

impl HealthcheckArgs {
    /// Fails unless /ready answers 200.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut address = self.ops_listen.unwrap_or(self.listen);
        // An unspecified address is replaced by the loopback address.
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        // The operations listener never uses TLS.
        let is_secure = self.tls_cert.is_some() && self.ops_listen.is_none();
        let mut client = ApiClient::of_this_machine(address, is_secure)?;
        let answer = single_threaded()?.block_on(client.get_as("*/*", "/ready", PROBE_TIME));
        let answer = answer.map_err(|NoAnswer { why, is_no_http, .. }| {
            let hint = if is_no_http && !is_secure { "; if it uses TLS, name its --tls-cert" } else { "" };
            Failure::because(format!("{address}: {why}{hint}"))
        })?;
        match answer.status.as_u16() {
            200 => Ok(()),
            404 if self.ops_listen.is_none() => {
                let hint = "if the server has a separate address for it, name it with --ops-listen";
                Err(Failure::because(format!("{address}: /ready answers 404; {hint}")))
            }
            status => Err(Failure::because(format!("{address}: /ready answers {status}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// The message of a check of a server that gives this answer to the first connection.
    fn checked(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let listen = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _: usize = stream.read(&mut [0; 4_096]).unwrap();
            stream.write_all(answer).unwrap();
        });
        let checked = HealthcheckArgs { listen, ops_listen: None, tls_cert: None }.run();
        server.join().unwrap();
        checked.map_or_else(|failure| failure.message, |()| "healthy".to_owned())
    }

    #[test]
    fn a_server_that_is_not_ready_or_speaks_tls_is_told_apart() {
        assert_eq!(checked(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), "healthy");
        for (answer, end) in [
            (&b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"[..], ": /ready answers 503"),
            (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "name it with --ops-listen"),
            (b"", "; if it uses TLS, name its --tls-cert"),
            // The alert of a server with TLS.
            (b"\x15\x03\x03\x00\x02\x02\x32", "; if it uses TLS, name its --tls-cert"),
        ] {
            let message = checked(answer);
            assert!(message.ends_with(end), "{message}");
        }
    }
}
