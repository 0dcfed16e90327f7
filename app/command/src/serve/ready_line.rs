//! The line of JSON on standard output by which a parent process learns the addresses of the server and its first key.

use petstore_domain::ApiKey;
use petstore_http::Server;
use serde_json::json;

use crate::addresses::reachable;
use crate::failure::Failure;
use crate::settings::ServeArgs;
use crate::terminal::print_once;
use crate::version;

/// Prints the line. Its members are always present; later versions may add others.
///
/// - `url`: the base of the contract, with the base path.
/// - `operations`: the origin of `/health`, `/ready`, `/metrics` and the sandbox.
/// - `sandbox`: the base of the sandbox; null without one.
/// - `key`: the first key if this start created it and no file or variable gave it; otherwise null.
/// - `pid`, `version`, `commit`: the process and its build.
pub(super) fn print(
    args: &ServeArgs,
    scheme: &str,
    servers: &[Server],
    key: Option<&ApiKey>,
) -> Result<(), Failure> {
    let origin = format!("{scheme}://{}", reachable(servers[0].local_addr()));
    let operations = match servers {
        [_, operations, ..] => format!("http://{}", reachable(operations.local_addr())),
        _ => origin.clone(),
    };
    let line = json!({
        "url": format!("{origin}{}", args.base_path),
        "operations": operations,
        "sandbox": args.sandbox.then(|| format!("{operations}/sandbox")),
        "key": key.map(ApiKey::reveal),
        "pid": std::process::id(),
        "version": version::NUMBER,
        "commit": version::COMMIT,
    });
    print_once(&format!("{line}\n"))
}
