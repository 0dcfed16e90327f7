//! The Debian package on temporary copies of this machine, with and without systemd; and the settings in the container
//! image.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{BINARY, Site, tools};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Packs the binary under test. It is not a release build, because that would take minutes and the test is about the
/// package.
fn pack(site: &Site, version: &str) -> String {
    let path = std::env::var("PATH").unwrap();
    let tools = tools::folder().join(".cargo/bin");
    let packed = Command::new("bash")
        .args(["app/package/deb", BINARY, version, "--fast"])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", site.folder.join(version))
        .env("PATH", format!("{}:{path}", tools.display()))
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", said(&packed));
    String::from_utf8(packed.stdout).unwrap().trim().to_owned()
}

/// Returns whether this machine allows temporary copies of itself.
fn machine_can_be_copied() -> bool {
    let mounts = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if mounts.is_ok_and(|output| output.status.success()) {
        return true;
    }
    tools::skips::skip(
        "the package is tried as root, who may mount; in a container, in one with --privileged",
    );
    false
}

/// Runs a script with two versions of the package. Returns its output and its exit code.
fn try_with(script: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let site = Site::new(script);
    let (old, new) = (pack(&site, "1.0.0"), pack(&site, "1.0.1"));
    let tried = Command::new("bash")
        .args([&format!("app/package/{script}"), &old, &new])
        .args(arguments)
        .current_dir(workspace())
        .output()
        .unwrap();
    (said(&tried), tried.status.code())
}

fn can_pack() -> bool {
    tools::can_run(tools::folder().join(".cargo/bin/cargo-deb"), "--version") && machine_can_be_copied()
}

#[test]
fn the_package_is_installed_killed_upgraded_removed_and_purged() {
    let needed = ["dpkg", "adduser", "systemd-analyze", "strace"];
    if !needed.into_iter().all(|program| tools::can_run(program, "--version")) || !can_pack() {
        return;
    }
    let port = crate::common::free_port().to_string();
    let (said, code) = try_with("try-deb", &[&port]);
    assert!(code == Some(0) && said.contains("the package works"), "{said}");
}

#[test]
fn under_systemd_the_package_starts_reloads_restarts_stops_and_is_upgraded() {
    let needed = ["dpkg", "adduser", "systemd-nspawn", "curl"];
    if !needed.into_iter().all(|program| tools::can_run(program, "--version")) || !can_pack() {
        return;
    }
    match try_with("try-systemd", &[]) {
        // Some machines do not permit to boot another machine inside, even under CI.
        (said, Some(3)) => {
            let why = said.trim_end().lines().last().unwrap_or_default();
            tools::skips::skip_even_under_ci(&format!("app/package/try-systemd: {why}"));
        }
        (said, code) => assert!(code == Some(0) && said.contains("the package works"), "{said}"),
    }
}

#[test]
fn without_cargo_deb_the_build_names_it_and_stops() {
    let site = Site::new("no-cargo-deb");
    let cargo = site.folder.join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\necho \"$1\" >>\"${0%/*}/calls\"\nexit 101\n").unwrap();
    petstore_test_servers::system::set_mode(&cargo, 0o755);
    let path = std::env::var("PATH").unwrap();
    let packed = Command::new("bash")
        .arg(workspace().join("app/package/deb"))
        .env("CARGO_TARGET_DIR", &site.folder)
        .env("PATH", format!("{}:{path}", site.folder.display()))
        .output()
        .unwrap();
    assert_eq!(packed.status.code(), Some(1), "{}", said(&packed));
    assert!(said(&packed).contains("cargo install --locked cargo-deb"), "{}", said(&packed));
    assert_eq!(std::fs::read_to_string(site.folder.join("calls")).unwrap(), "deb\n");
}

/// Returns the instruction of the Dockerfile that begins with this word, with its lines joined.
fn instruction(word: &str) -> String {
    let file = std::fs::read_to_string(workspace().join("app/package/Dockerfile")).unwrap();
    let file = file.replace("\\\n", " ");
    let found = file.lines().rfind(|line| line.split(' ').next() == Some(word));
    found.unwrap_or_else(|| panic!("no {word} in {file}")).to_owned()
}

#[test]
fn the_health_check_finds_a_server_with_the_image_s_variables() {
    let mut site = Site::new("image");
    let variables = instruction("ENV");
    let data = site.folder.to_str().unwrap().to_owned();
    let values: Vec<(String, String)> = variables
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        // The port of the image may be in use on this machine, and the image's folder does not exist here. So both are
        // replaced.
        .map(|(name, value)| {
            (name.to_owned(), value.replace(":8080", &format!(":{}", site.port)).replace("/data", &data))
        })
        .collect();
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    assert!(values.contains(&("PETSTORE_LISTEN", &format!("0.0.0.0:{}", site.port))), "{values:?}");
    site.serve(&[], &values);
    assert_eq!(site.printed(), "", "a key would be in the container's log");
    for file in ["petstore.db", "initial-key"] {
        assert!(site.folder.join(file).exists(), "{file} is not in the volume");
    }
    let check = instruction("HEALTHCHECK");
    let check: Vec<String> = serde_json::from_str(&check[check.find('[').unwrap()..]).unwrap();
    assert_eq!(check[0], "/petstore");
    let arguments: Vec<&str> = check[1..].iter().map(String::as_str).collect();
    for arguments in [&arguments[..], &["keys", "list"]] {
        let output = site.command(arguments).envs(values.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn hadolint_finds_nothing_in_the_dockerfile() {
    let hadolint = tools::python("hadolint");
    if !tools::can_run(&hadolint, "--version") {
        return;
    }
    let judged =
        Command::new(hadolint).arg("app/package/Dockerfile").current_dir(workspace()).output().unwrap();
    assert!(judged.status.success(), "{}", said(&judged));
}
