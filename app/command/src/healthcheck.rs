//! `petstore healthcheck`: for container images without curl.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::settings::expected::address;
use crate::tls;

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(3);

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
    #[arg(long, env = "PETSTORE_TLS_CERT", value_name = "FILE")]
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
        let status = ask(address, is_secure).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                Failure::because(format!("{address}: no server listens there: {error}"))
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Failure::because(format!("{address}: no answer within {} s", PATIENCE.as_secs()))
            }
            _ => Failure::because(format!("{address}: {error}")),
        })?;
        match status.as_str() {
            "200" => Ok(()),
            "404" if self.ops_listen.is_none() => {
                let hint = "if the server has a separate address for it, name it with --ops-listen";
                Err(Failure::because(format!("{address}: /ready answers 404; {hint}")))
            }
            _ => Err(Failure::because(format!("{address}: /ready answers {status}"))),
        }
    }
}

/// Returns the status of GET /ready.
fn ask(address: SocketAddr, is_secure: bool) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if is_secure {
        status(tls::client::connect(stream, address.ip()).map_err(io::Error::other)?, address)
    } else {
        status(stream, address)
    }
}

fn status(mut stream: impl Read + Write, address: SocketAddr) -> io::Result<String> {
    write!(stream, "GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    stream.flush()?;
    // `HTTP/1.1 200`: the first twelve bytes of the status line.
    let mut line = [0; 12];
    stream.read_exact(&mut line).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other(
            "the server closed the connection without an answer; if it uses TLS, name its --tls-cert",
        ),
        _ => error,
    })?;
    Ok(String::from_utf8_lossy(&line[9..]).into_owned())
}
