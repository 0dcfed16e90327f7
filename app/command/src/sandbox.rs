//! A tester's server: its clock can be turned, and it can begin anew.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use petstore_http::Endpoint;
use petstore_ports::api::Sandbox;
use petstore_ports::{Clock, Row};
use petstore_sandbox::{SandboxClock, TestBed};
use petstore_sqlite::companion;

use crate::demo;
use crate::environment::SystemEntropy;
use crate::settings::{Db, ServeArgs};
use crate::store::Backend;
use crate::{Failure, sync_folder_of};

/// Where the name ends of what stands beside a data file that sandboxes alone have served.
pub(crate) const MARK: &str = ".sandbox";

/// The clock that a server works with, and what a tester may do to it: nothing, unless the settings say so.
pub(crate) struct Bench {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
}

impl Bench {
    pub(crate) fn of(args: &ServeArgs, backend: &Backend, machine: &Arc<dyn Clock>, shop: Vec<Row>) -> Self {
        if !args.sandbox {
            return Self { clock: Arc::clone(machine), sandbox: None };
        }
        let clock = Arc::new(SandboxClock::new(Arc::clone(machine)));
        let bed = TestBed {
            store: backend.resettable(),
            clock: Arc::clone(&clock),
            entropy: Arc::new(SystemEntropy),
            shop: shop.into(),
        };
        Self { clock, sandbox: Some(Arc::new(bed)) }
    }
}

/// What a reset goes back to, the `shop` of [`Bench::of`]: an empty one, or the demonstration's, as it is made in a store of
/// its own.
pub(crate) fn beginning(demo: Option<u32>) -> Result<Vec<Row>, String> {
    let Some(pets) = demo else { return Ok(vec![]) };
    let scratch = Backend::in_memory(0);
    demo::fill(scratch.bulk(), pets)?;
    let mut rows = vec![];
    let exported = scratch.bulk().export(&mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    });
    exported.map(|()| rows).map_err(|error| error.report())
}

/// Takes a data file for a sandbox: a new one, or one that sandboxes alone have served. A reset empties it, so that no
/// other will do, least of all the one that is the default everywhere.
pub(crate) fn claim(db: &Db, backend: &Backend, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
    let Some(mark) = mark(db).filter(|mark| !mark.exists()) else { return Ok(()) };
    let counts = backend.stats().counts();
    if counts.accounts + counts.categories > 0 {
        return Err(Failure::usage(format!(
            "{} and {} do not go together: that file holds data that is no sandbox's, and a reset would empty it; \
             name another --db, or memory",
            named("sandbox"),
            named("db")
        )));
    }
    File::create(&mark)
        .map(drop)
        .map_err(|error| Failure::because(format!("{} cannot be made: {error}", mark.display())))
}

/// Whether sandboxes alone have served this file.
pub(crate) fn is_marked(db: &Db) -> bool {
    mark(db).is_some_and(|mark| mark.exists())
}

/// Refuses sockets that were handed over and that other machines may reach, as the settings refuse such addresses.
pub(crate) fn check_inherited(args: &ServeArgs, endpoints: [Option<&Endpoint>; 2]) -> Result<(), Failure> {
    for endpoint in endpoints.into_iter().flatten() {
        let Endpoint::Inherited(listener) = endpoint else { continue };
        let address = listener.local_addr();
        let is_here = address.is_ok_and(|address| address.ip().to_canonical().is_loopback());
        if !is_here && !args.sandbox_anywhere {
            return Err(Failure::usage(
                "other machines may reach a socket that was handed over, and whoever reaches a sandbox can empty it; \
                 sandbox-anywhere permits that",
            ));
        }
    }
    Ok(())
}

/// Takes a data file from the sandboxes for good: from now on somebody may rely on what is in it.
pub(crate) fn disclaim(db: &Db) -> Result<(), Failure> {
    let (Db::File(file), Some(mark)) = (db, mark(db)) else { return Ok(()) };
    let removed = match fs::remove_file(&mark) {
        // A power cut must not bring it back beside data that was acknowledged.
        Ok(()) => fs::canonicalize(file).and_then(|file| sync_folder_of(&file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| Failure::because(format!("{} cannot be removed: {error}", mark.display())))
}

/// Where a reader of the reference page finds the sandbox: with the contract, or at the operators' listener. Its address
/// is told if it can be typed as it is; which port the system chooses is known too late.
pub(crate) fn origin(public: &Endpoint, ops: Option<&Endpoint>, is_tls: bool) -> String {
    let (endpoint, scheme) = match ops {
        Some(ops) => (ops, "http"),
        None => (public, if is_tls { "https" } else { "http" }),
    };
    let address = match endpoint {
        Endpoint::Address(address) => Some(*address),
        Endpoint::Inherited(listener) => listener.local_addr().ok(),
    };
    match address.filter(|address| address.port() != 0 && !address.ip().is_unspecified()) {
        Some(address) => format!("{scheme}://{address}"),
        None => format!("{scheme}://ADDRESS-OF-THE-SANDBOX"),
    }
}

fn mark(db: &Db) -> Option<PathBuf> {
    let Db::File(file) = db else { return None };
    Some(companion(file, MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_if_it_can_be_typed() {
        let at = |address: &str| Endpoint::Address(address.parse().unwrap());
        let public = at("127.0.0.1:8080");
        assert_eq!(origin(&public, None, false), "http://127.0.0.1:8080");
        assert_eq!(origin(&public, None, true), "https://127.0.0.1:8080");
        assert_eq!(origin(&public, Some(&at("[::1]:9090")), true), "http://[::1]:9090", "never under TLS");
        for unknown in ["127.0.0.1:0", "0.0.0.0:9090", "[::]:9090"] {
            assert_eq!(origin(&public, Some(&at(unknown)), false), "http://ADDRESS-OF-THE-SANDBOX");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(origin(&Endpoint::Inherited(listener), None, false), format!("http://{address}"));
    }
}
