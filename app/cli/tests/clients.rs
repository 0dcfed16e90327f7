//! The contract as two generators see it: each makes a client of it, a strict compiler accepts the client, and a tour
//! of the running petstore through it comes to its end. The tours are in `tests/clients`, to be read as examples too;
//! what was generated stays in `target/tmp/clients`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Site, tools};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients");

/// An empty folder for a client.
fn folder(language: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(language);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a program to its good end and gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Runs a tour against a new petstore.
fn tour(name: &str, command: &mut Command) {
    let mut site = Site::new(&format!("client-{name}"));
    site.serve(&["--db", "memory"], &[]);
    let key = |plan| {
        let socket = ["--admin-socket", "petstore.sock"];
        run(&mut site.command(&[&["keys", "create", "--quiet", "--plan", plan], &socket[..]].concat()))
    };
    command
        .env("PETSTORE_URL", format!("http://127.0.0.1:{}/v1", site.port))
        .env("PETSTORE_KEY", key("pro").trim())
        .env("PETSTORE_FREE_KEY", key("free").trim());
    assert_eq!(run(command), "the tour is over\n");
}

#[test]
fn a_python_client_is_generated_type_checked_and_used() {
    let [generator, mypy, python] = ["openapi-generator-cli", "mypy", "python"].map(tools::python);
    if !tools::can_run(&generator, "version") {
        return;
    }
    let folder = folder("python");
    run(Command::new(generator)
        .args(["generate", "-g", "python", "-i", CONTRACT, "-o", folder.to_str().unwrap()])
        .arg("--additional-properties=packageName=petstore_client"));
    let source = Path::new(CLIENTS).join("python");
    run(Command::new(mypy)
        .arg("--config-file")
        .arg(source.join("mypy.ini"))
        .arg(source.join("tour.py"))
        .env("MYPYPATH", &folder)
        .env("MYPY_CACHE_DIR", folder.join("cache")));
    tour("python", Command::new(python).arg(source.join("tour.py")).env("PYTHONPATH", &folder));
}

#[test]
fn a_typescript_client_is_generated_type_checked_and_used() {
    let [generator, compiler] = ["openapi-typescript", "tsc"].map(tools::node);
    if !tools::can_run(&generator, "--version") {
        return;
    }
    let folder = folder("typescript");
    for file in ["package.json", "tsconfig.json", "tour.ts"] {
        std::fs::copy(Path::new(CLIENTS).join("typescript").join(file), folder.join(file)).unwrap();
    }
    std::os::unix::fs::symlink(tools::folder().join("node_modules"), folder.join("node_modules")).unwrap();
    // A member with a default may be left out of a request.
    run(Command::new(generator)
        .args([CONTRACT, "--default-non-nullable", "false", "-o", "petstore.ts"])
        .current_dir(&folder));
    run(Command::new(compiler).current_dir(&folder));
    tour("typescript", Command::new("node").arg("out/tour.js").current_dir(&folder));
}
