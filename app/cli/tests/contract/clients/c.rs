use std::process::Command;

use super::{files, generated, run};
use crate::common::tools;

/// The client is compiled with the flags of the generated build file, and linked, so that every called function must
/// exist.
#[test]
fn a_c_client_is_generated_compiled_and_linked() {
    let Some(client) = generated::client("c").filter(|_| tools::can_run("cc", "--version")) else { return };
    if !tools::can_run("curl-config", "--version") {
        return;
    }
    let build = std::fs::read_to_string(client.join("CMakeLists.txt")).unwrap();
    let strict = ["implicit-function-declaration", "missing-declarations", "int-conversion"];
    let strict = strict.map(|warning| format!("-Werror={warning}"));
    assert!(strict.iter().all(|flag| build.contains(flag)), "other flags than those of CMakeLists.txt");
    let folders = ["src", "model", "api", "external"];
    run(Command::new("cc")
        .args(["-std=gnu99", "-w", "-O0", "-fPIC", "-shared", "-Wl,--no-undefined", "-o", "libpetstore.so"])
        .args(strict)
        .args(["include", "model", "api", "external"].map(|folder| format!("-I{folder}")))
        .args(folders.iter().flat_map(|folder| files(&client.join(folder), "c")))
        .arg("-lcurl")
        .current_dir(&client));
}
