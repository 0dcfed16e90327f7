//! Clients of the Model Context Protocol that others have written, in both eras, against a sandbox. `bash tests/deep mcp` tries further
//! versions, the inspector, and the protocol's own conformance suite.

use std::process::Command;

use super::{run, source, typescript};
use crate::common::{Client, Site, tools};

fn python(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(tools::python("python"));
    command.arg(source("tests/clients/mcp").join(program)).args(arguments);
    command
}

/// Node resolves packages beside the program, so the program is copied to a folder beside them.
fn node(arguments: &[&str]) -> Command {
    let folder = typescript::package_at("mcp", "mcp");
    let mut command = Command::new("node");
    command.arg(folder.join("sdk.mjs")).args(arguments).current_dir(folder);
    command
}

#[test]
fn clients_that_others_have_written_call_the_tools() {
    let packages =
        ["sdk", "client"].map(|name| tools::folder().join("node_modules/@modelcontextprotocol").join(name));
    if !packages.iter().all(|package| tools::has(package))
        || !tools::has(&tools::python("fastmcp"))
        || !tools::can_run("node", "--version")
    {
        return;
    }
    let mut site = Site::new("client-mcp");
    let key = site.new_key();
    site.serve(&["--db", "memory", "--sandbox", "--demo", "20"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let mut tester = Client::connect(site.port, &key).unwrap();
    for mut client in [
        python("fastmcp_client.py", &[]),
        python("python_mcp.py", &["2", "legacy"]),
        python("python_mcp.py", &["2", "auto"]),
        python("python_mcp.py", &["2", "2026-07-28"]),
        node(&["sdk"]),
        node(&["client"]),
        node(&["client", "2026-07-28"]),
    ] {
        assert_eq!(tester.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
        client.env("PETSTORE_MCP", format!("http://127.0.0.1:{}/mcp", site.port)).env("PETSTORE_KEY", &key);
        assert_eq!(run(&mut client), "ok\n");
    }
}
