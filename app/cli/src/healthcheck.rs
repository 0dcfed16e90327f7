//! `petstore healthcheck`: for containers, whose images have no curl.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;

use crate::Failure;
use crate::settings::expected::address;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where /ready is.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    /// Address that the server serves on
    #[arg(long, env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080", value_parser = address, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,

    /// Address of its own for /health and /ready, if it has one
    #[arg(long, env = "PETSTORE_OPS_LISTEN", value_parser = address, value_name = "ADDRESS:PORT")]
    ops_listen: Option<SocketAddr>,
}

impl HealthcheckArgs {
    /// Fails unless /ready says 200.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut address = self.ops_listen.unwrap_or(self.listen);
        // A server that listens on every address is asked on this machine's own.
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let status = ask(address).map_err(|error| Failure::because(format!("{address}: {error}")))?;
        if status == "200" {
            Ok(())
        } else {
            Err(Failure::because(format!("{address}: /ready says {status}")))
        }
    }
}

/// The status of GET /ready.
fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    // `HTTP/1.1 200`: the status line's first twelve bytes.
    let mut line = [0; 12];
    stream.read_exact(&mut line)?;
    Ok(String::from_utf8_lossy(&line[9..]).into_owned())
}
