use std::path::Path;
use std::process::Command;

use super::generated::Version;
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
    vet_and_use(Version::V30);
}

#[test]
fn a_go_client_from_openapi_3_1_is_generated_vetted_and_used() {
    vet_and_use(Version::V31);
}

fn vet_and_use(version: Version) {
    let client = generated::client_from("go", version).filter(|_| tools::can_run("go", "version"));
    let Some(client) = client else { return };
    let name = version.folder("go");
    let module = folder(&name);
    std::fs::create_dir(module.join("petstore")).unwrap();
    for file in files(&client, "go").iter().filter(|file| file.parent() == Some(&client)) {
        std::fs::copy(file, module.join("petstore").join(file.file_name().unwrap())).unwrap();
    }
    std::fs::copy(source("tests/clients/go/tour.go"), module.join("tour.go")).unwrap();
    // The client and the tour need only the standard library, so the module has no dependencies.
    std::fs::write(module.join("go.mod"), "module tour\n\ngo 1.19\n").unwrap();
    run(command().args(["vet", "./..."]).current_dir(&module));
    run(command().args(["build", "-o", "tour.out", "."]).current_dir(&module));
    tour(&name, &mut Command::new(module.join("tour.out")));
}
