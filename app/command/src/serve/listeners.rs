//! The listeners: opening them, and announcing their addresses.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use petstore_domain::ApiKey;
use petstore_http::{Endpoint, Http, Server};

use super::ready_line;
use crate::addresses::{advice, page_origin, reachable};
use crate::failure::Failure;
use crate::log::Log;
use crate::settings::{Loaded, ServeArgs};
use crate::tls::Certificate;

pub(super) fn listen(
    loaded: &Loaded,
    threads: NonZeroUsize,
    http: &Http,
    public: Endpoint,
    ops: Option<Endpoint>,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Vec<Server>, Failure> {
    let cannot = |place: String, error: io::Error, flag: &str| {
        let advice = advice(error.kind(), flag);
        Failure::because(format!("{place}: cannot listen there: {error}{advice}"))
    };
    let named = |endpoint: &Endpoint, key| match endpoint {
        Endpoint::Address(_) => loaded.named(key),
        Endpoint::Inherited(_) => "the inherited socket".to_owned(),
    };
    let place = named(&public, "listen");
    let server = match certificate {
        None => http.listen(public, threads),
        Some(certificate) => {
            let config = certificate.config().map_err(|error| Failure::because(error.to_string()))?;
            http.listen_tls(public, threads, config)
        }
    };
    let mut servers = vec![server.map_err(|error| cannot(place, error, "listen"))?];
    if let Some(ops) = ops {
        let place = named(&ops, "ops-listen");
        servers.push(http.listen_ops(ops).map_err(|error| cannot(place, error, "ops-listen"))?);
    }
    Ok(servers)
}

/// Logs the addresses. The line with `serving` comes last, because scripts wait for it. Then prints the line of JSON, if the
/// settings ask for it.
pub(super) fn announce(
    args: &ServeArgs,
    scheme: &str,
    servers: &[Server],
    key: Option<&ApiKey>,
    log: &Log,
) -> Result<(), Failure> {
    if args.sandbox {
        let address = servers.last().unwrap_or(&servers[0]).local_addr();
        let scheme = if servers.len() > 1 { "http" } else { scheme };
        log.info(&format!(
            "SANDBOX: every client of {scheme}://{address} can empty this store (POST /sandbox/reset), set its clock \
                and inject failures: do not use it for real data"
        ));
        log.info(&format!("console of the sandbox: {scheme}://{}/sandbox", reachable(address)));
    }
    if !args.trusted_proxies.is_empty() && args.public_url.is_none() {
        log.info(
            "trusted-proxies without public-url: links in answers use the scheme and host that these proxies report \
                in Forwarded, else in X-Forwarded-Proto and X-Forwarded-Host",
        );
    }
    if let [_, ops] = servers {
        log.info(&format!("health and metrics: http://{}", ops.local_addr()));
    }
    log.info(&format!("reference and console: {}/docs", page_origin(args, scheme, servers[0].local_addr())));
    log.info(&format!("serving {scheme}://{}{} from {}", servers[0].local_addr(), args.base_path, args.db));
    if args.process.ready_json { ready_line::print(args, scheme, servers, key) } else { Ok(()) }
}
