use std::process::Command;

use super::generated::Version;
use super::{folder, generated, run, source, tour};
use crate::common::tools;

#[test]
fn a_python_client_is_generated_type_checked_and_used() {
    check_and_use(Version::V30);
}

#[test]
fn a_python_client_from_openapi_3_1_is_generated_type_checked_and_used() {
    check_and_use(Version::V31);
}

fn check_and_use(version: Version) {
    let Some(client) = generated::client_from("python", version) else { return };
    let [mypy, python] = ["mypy", "python"].map(tools::python);
    let source = source("tests/clients/python");
    run(Command::new(mypy)
        .arg("--config-file")
        .arg(source.join("mypy.ini"))
        .arg(source.join("tour.py"))
        .env("MYPYPATH", &client)
        .env("MYPY_CACHE_DIR", client.join("cache")));
    tour(
        &version.folder("python"),
        Command::new(python).arg(source.join("tour.py")).env("PYTHONPATH", &client),
    );
}

#[test]
fn the_client_of_openapi_python_client_is_type_checked() {
    let [generator, mypy] = ["openapi-python-client", "mypy"].map(tools::python);
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = folder("openapi-python-client");
    // The generator's last step, which formats the code, is switched off because the check does not need it.
    std::fs::write(folder.join("settings.yaml"), "post_hooks: []\n").unwrap();
    let settings = ["--fail-on-warning", "--config", "settings.yaml"];
    run(generated::documented(&generator, &folder).args(settings));
    run(Command::new(mypy).args(["--strict", "petstore_client"]).current_dir(folder));
}
