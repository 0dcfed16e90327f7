use std::path::PathBuf;
use std::process::Command;

use super::generated::Version;
use super::{files, folder, generated, has_library, run, source, tour};
use crate::common::tools;

const ANNOTATIONS: &str = "/usr/share/java/jakarta-annotation-api.jar";

/// The archive of the generator, which contains the Jackson library too.
pub(super) fn jackson() -> PathBuf {
    let archives = files(&tools::folder().join(".venv/lib"), "jar");
    archives.into_iter().find(|file| file.ends_with("openapi-generator.jar")).unwrap()
}

#[test]
fn a_java_client_is_generated_compiled_and_used() {
    compile_and_use(Version::V30);
}

#[test]
fn a_java_client_from_openapi_3_1_is_generated_compiled_and_used() {
    compile_and_use(Version::V31);
}

fn compile_and_use(version: Version) {
    let client = generated::client_from("java", version).filter(|_| tools::can_run("javac", "--version"));
    let Some(client) = client else { return };
    if !has_library(ANNOTATIONS) {
        return;
    }
    let name = version.folder("java");
    let classes = folder(&name);
    let jackson = jackson();
    let path = |parts: [&str; 2]| parts.join(":");
    run(Command::new("javac")
        .args([
            "-proc:none",
            "-encoding",
            "UTF-8",
            "-cp",
            &path([jackson.to_str().unwrap(), ANNOTATIONS]),
            "-d",
        ])
        .arg(&classes)
        .args(files(&client.join("src/main"), "java"))
        .arg(source("tests/clients/java/Tour.java")));
    let path = path([classes.to_str().unwrap(), jackson.to_str().unwrap()]);
    tour(&name, Command::new("java").args(["-XX:TieredStopAtLevel=1", "-cp", &path, "Tour"]));
}
