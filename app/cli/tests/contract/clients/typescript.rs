use std::path::{Path, PathBuf};
use std::process::Command;

use super::generated::Version;
use super::{folder, generated, run, source, tour};
use crate::common::tools;

/// The compiler flags that the generated clients satisfy.
const STRICT: &str = r#"{
  "compilerOptions": {
    "strict": true, "target": "ES2022", "lib": ["ES2022", "DOM", "DOM.Iterable"], "types": [],
    "module": "ESNext", "moduleResolution": "Bundler", "noEmit": true
  }
}"#;

/// Creates a package for a tour: the files of its folder in `tests/clients`, and the Node packages.
fn package(name: &str) -> PathBuf {
    package_at(name, name)
}

pub(super) fn package_at(place: &str, name: &str) -> PathBuf {
    let folder = folder(place);
    let sources = std::fs::read_dir(source("tests/clients").join(name)).unwrap();
    for file in sources.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    link(&tools::folder().join("node_modules"), &folder.join("node_modules"));
    folder
}

fn link(to: &Path, at: &Path) {
    petstore_test_servers::system::symlink(std::fs::canonicalize(to).unwrap(), at).unwrap();
}

/// Compiles a tour and runs it.
fn compile_and_run(name: &str, folder: &Path) {
    run(Command::new(tools::node("tsc")).current_dir(folder));
    tour(name, Command::new("node").arg("out/tour.js").current_dir(folder));
}

/// Creates an empty package, whose generated client in `client` is checked with strict types.
fn strict(name: &str) -> PathBuf {
    let folder = folder(name);
    std::fs::write(folder.join("tsconfig.json"), STRICT).unwrap();
    link(&tools::folder().join("node_modules"), &folder.join("node_modules"));
    folder
}

#[test]
fn the_types_of_openapi_typescript_are_generated_checked_and_used() {
    let generator = tools::node("openapi-typescript");
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = package("typescript");
    run(&mut generated::documented(&generator, &folder));
    compile_and_run("typescript", &folder);
}

/// Puts the contract in OpenAPI 3.1 into a folder.
fn upgrade(folder: &Path) {
    std::fs::write(folder.join("openapi.yaml"), generated::printed_31()).unwrap();
}

#[test]
fn the_types_of_the_contract_in_openapi_3_1_are_generated_checked_and_used() {
    let generator = tools::node("openapi-typescript");
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = package_at("typescript-3-1", "typescript");
    upgrade(&folder);
    run(&mut generated::documented(&generator, &folder));
    compile_and_run("typescript", &folder);
}

#[test]
fn the_client_of_hey_api_for_openapi_3_1_is_type_checked() {
    let generator = tools::node("openapi-ts");
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = strict("hey-api-3-1");
    upgrade(&folder);
    run(generated::documented(&generator, &folder).env("CI", "true"));
    run(Command::new(tools::node("tsc")).current_dir(&folder));
}

#[test]
fn a_typescript_client_on_fetch_is_generated_type_checked_and_used() {
    use_fetch(Version::V30);
}

#[test]
fn a_typescript_client_on_fetch_from_openapi_3_1_is_generated_type_checked_and_used() {
    use_fetch(Version::V31);
}

fn use_fetch(version: Version) {
    let Some(client) = generated::client_from("typescript-fetch", version) else { return };
    let name = version.folder("typescript-fetch");
    let folder = package_at(&name, "typescript-fetch");
    run(Command::new("cp").arg("-r").arg(client).arg(folder.join("client")));
    compile_and_run(&name, &folder);
}

#[test]
fn a_typescript_client_on_axios_is_generated_and_type_checked() {
    let Some(client) = generated::client("typescript-axios") else { return };
    let folder = strict("typescript-axios");
    run(Command::new("cp").arg("-r").arg(client).arg(folder.join("client")));
    run(Command::new(tools::node("tsc")).current_dir(&folder));
}

#[test]
fn the_client_of_hey_api_is_type_checked() {
    let generator = tools::node("openapi-ts");
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = strict("hey-api");
    run(generated::documented(&generator, &folder).env("CI", "true"));
    run(Command::new(tools::node("tsc")).current_dir(&folder));
}

#[test]
fn the_client_of_orval_is_type_checked() {
    let generator = tools::node("orval");
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = strict("orval");
    run(&mut generated::documented(&generator, &folder));
    run(Command::new(tools::node("tsc")).current_dir(&folder));
}
