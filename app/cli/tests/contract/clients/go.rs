use std::path::Path;
use std::process::Command;

use super::{files, folder, generated, run, source, tour};
use crate::common::tools;

/// The Go command, which may download nothing and has its cache beside the clients.
pub(super) fn command() -> Command {
    let mut command = Command::new("go");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients/go-cache");
    command.envs([
        ("GOPROXY", "off"),
        ("GOFLAGS", "-mod=mod"),
        ("GOTOOLCHAIN", "local"),
        ("CGO_ENABLED", "0"),
    ]);
    command.env("GOCACHE", cache);
    command
}

#[test]
fn a_go_client_is_generated_vetted_and_used() {
    let Some(client) = generated::client("go").filter(|_| tools::can_run("go", "version")) else { return };
    let module = folder("go");
    std::fs::create_dir(module.join("petstore")).unwrap();
    for file in files(&client, "go").iter().filter(|file| file.parent() == Some(&client)) {
        std::fs::copy(file, module.join("petstore").join(file.file_name().unwrap())).unwrap();
    }
    std::fs::copy(source("tests/clients/go/tour.go"), module.join("tour.go")).unwrap();
    // The client and the tour need only the standard library, so the module has no dependencies.
    std::fs::write(module.join("go.mod"), "module tour\n\ngo 1.19\n").unwrap();
    run(command().args(["vet", "./..."]).current_dir(&module));
    run(command().args(["build", "-o", "tour.out", "."]).current_dir(&module));
    tour("go", &mut Command::new(module.join("tour.out")));
}
