//! The README: its tour as printed, its installation, and each command that it names.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::common::{BINARY, Site, page, tools};

const README: &str = include_str!("../../../../README.md");
const SANDBOX: &str = include_str!("../../../../docs/sandbox.md");

/// A command of the tour and its output.
struct Step {
    command: String,
    printed: String,
}

/// Returns each block of this kind, such as `sh`, that is followed by a `text` block with its output.
fn steps(document: &str, sort: &str) -> Vec<Step> {
    let blocks = page::split(document).0;
    let pairs = blocks.windows(2).filter(|pair| pair[0].kind == sort && pair[1].kind == "text");
    pairs.map(|pair| Step { command: pair[0].text.clone(), printed: pair[1].text.clone() }).collect()
}

fn has_curl() -> bool {
    tools::can_run("curl", "--version")
}

#[test]
fn the_tour_of_the_readme_works_as_printed() {
    if !has_curl() {
        return;
    }
    let steps = steps(README, "sh");
    assert!(steps.len() >= 10, "the tour has {} steps", steps.len());
    follow(&Site::served("tour", &[]), &steps);
}

#[test]
fn the_sandbox_tours_work_as_printed() {
    if !has_curl() {
        return;
    }
    for (document, sort, least) in [(README, "sh sandbox", 1), (SANDBOX, "sh", 5)] {
        let steps = steps(document, sort);
        assert!(steps.len() >= least, "there are {} steps", steps.len());
        follow(&Site::served("tour-sandbox", &["--sandbox", "--demo", "100"]), &steps);
    }
}

fn folder_of(file: &str) -> &Path {
    Path::new(file).parent().unwrap()
}

/// Returns a PATH with this folder first.
fn path_with(folder: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap()
}

/// The installation is not run, because it would take minutes and replace the binary under test.
#[test]
fn the_readme_installs_the_command_that_it_calls() {
    let blocks = page::split(README).0;
    let first = &blocks.iter().find(|block| block.kind == "sh").expect("a block").text;
    let (install, command) = first.trim().split_once('\n').unwrap();
    let package = install.strip_prefix("cargo install --locked --path ").unwrap();
    let package = page::root().join(package).canonicalize().unwrap();
    assert_eq!(package, Path::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(Path::new(BINARY).file_name(), Some(command.as_ref()));
}

/// Returns the command lines that begin with `petstore`, from `text` blocks and from the prose.
fn shown() -> Vec<String> {
    let (blocks, prose) = page::split(README);
    let lines = blocks.iter().flat_map(|block| block.text.lines()).map(str::to_owned);
    let prose = prose.join("\n");
    let spans = prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "));
    lines.chain(spans).filter(|text| text.starts_with("petstore ")).collect()
}

#[test]
fn each_command_and_flag_in_the_readme_exists() {
    let site = Site::new("shown");
    let mut seen = 0;
    for line in shown() {
        // Two spaces begin a comment. In `a | b`, `b` is an alternative after the same command.
        let line = line.split("  ").next().unwrap();
        let (first, others) = line.split_once(" | ").unwrap_or((line, ""));
        let is_name =
            |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !word.starts_with('-');
        let command: Vec<_> = first.split(' ').skip(1).take_while(is_name).collect();
        let flags = first.split(['[', ']', ' ', '=']).filter(|word| word.starts_with("--"));
        let help = |command: &[&str]| {
            let output = site.run(&[command, &["--help"]].concat());
            assert!(output.status.success(), "{line}: there is no petstore {}", command.join(" "));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let page = help(&command);
        for flag in flags {
            assert!(page.contains(flag), "{line}: {flag} is not in\n{page}");
        }
        for other in others.split(" | ").filter(|other| !other.is_empty()) {
            help(&[&command[..command.len() - 1], &[other]].concat());
        }
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

/// Runs the steps one after the other.
fn follow(site: &Site, steps: &[Step]) {
    // All steps run in one shell, which prints a line after each.
    let mut script = format!("PETSTORE=http://127.0.0.1:{}/v1\nKEY={}\n", site.port, site.printed_key());
    for step in steps {
        script += &step.command;
        script += "echo; echo ---\n";
    }
    // The tour counts 61 requests within one minute. The whole script takes a second or two, so a minute seldom ends
    // between the requests.
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(&site.folder).env("PATH", path_with(folder_of(BINARY)));
    let output = shell.output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<_> = output.split("---\n").collect();
    for (step, printed) in steps.iter().zip(&printed) {
        if step.command.contains("seq 61") && printed.contains("61 200") {
            // A minute has ended between the requests, which the README mentions as possible.
            continue;
        }
        page::assert_printed(&step.command, printed, &step.printed);
    }
}
