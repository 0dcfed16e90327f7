//! The pages of `docs`: every command works as printed, and every link has a target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use petstore_test_servers::system::symlink;

use crate::common::{Site, page, tools};

/// Runs a page, if its programs are installed.
fn run(name: &str, programs: &[(PathBuf, &str)]) {
    if programs.iter().all(|(program, version)| tools::can_run(program, version)) {
        page::run(name);
    }
}

#[test]
fn each_page_with_commands_is_run() {
    let this = include_str!("pages.rs").to_owned()
        + include_str!("nodes_pages.rs")
        + include_str!("../contract/imports.rs");
    for name in fs::read_dir(page::root().join("docs")).unwrap() {
        let path = name.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let blocks = page::split(&fs::read_to_string(&path).unwrap()).0;
        // A page with a `sh setup` block is a tour. The tests of the README run it.
        let is_tour = blocks.iter().any(|block| block.kind == "sh setup");
        let tells_commands = blocks.iter().any(|block| block.kind == "sh");
        let name = path.file_name().unwrap().to_str().unwrap();
        let run = if is_tour {
            include_str!("readme.rs").contains(name)
        } else {
            this.contains(&format!("\"{name}\""))
        };
        assert!(!tells_commands || run, "no test runs {name}");
    }
}

/// Collects the Markdown files of the repository.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules"].contains(&&*name) && !name.starts_with('.') {
            markdown(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the anchor of a heading as GitHub makes it: letters, digits and dashes.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page::split(page).1.into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Returns the targets of a page's links.
fn targets(page: &str) -> Vec<String> {
    let prose = page::split(page).1.join("\n");
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.map(str::to_owned).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = vec![];
    markdown(&page::root(), &mut pages);
    let mut seen = 0;
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let goal = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(goal.exists(), "{}: {target} leads nowhere", path.display());
            if !fragment.is_empty() {
                let goal = fs::read_to_string(&goal).unwrap();
                assert!(
                    anchors(&goal).contains(fragment),
                    "{}: {target} has no such heading",
                    path.display()
                );
            }
        }
    }
    assert!(seen > 10, "{seen} links");
}

#[test]
fn a_heading_has_the_anchor_of_github() {
    assert_eq!(anchor(" Plans, limits, bans"), "plans-limits-bans");
    assert_eq!(anchor(" Where we chose `otherwise`"), "where-we-chose-otherwise");
}

#[test]
fn dots_stand_for_anything() {
    assert!(page::fits("a 12 b", "a … b") && page::fits("a 12", "a …") && page::fits("a", "a"));
    assert!(!page::fits("a 12 c", "a … b") && !page::fits("ab", "a") && !page::fits("b", "a…"));
}

/// Returns whether a line of a Rust block is shown by Markdown, and hidden by rustdoc.
fn is_hidden_by_rustdoc(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

#[test]
fn a_rust_block_is_a_whole_program() {
    let mut pages = vec![];
    markdown(&page::root(), &mut pages);
    let mut seen = 0;
    for path in pages {
        let blocks = page::split(&fs::read_to_string(&path).unwrap()).0;
        // Blocks of one line with `ignore` show a call, and those with a file's name are a part of a project.
        for block in blocks.iter().filter(|block| block.kind == "rust") {
            let hidden = block.text.lines().find(|line| is_hidden_by_rustdoc(line));
            assert_eq!(hidden, None, "{}: a reader would paste it", path.display());
            let starts = ["fn main()", "#[tokio::test]", "_conformance!("];
            let is_whole = starts.iter().any(|start| block.text.contains(start));
            assert!(is_whole, "{}: no program\n{}", path.display(), block.text);
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} blocks");
}

/// Returns the name and the text of the README and of each page of `docs`.
fn documents() -> Vec<(String, String)> {
    let entries = fs::read_dir(page::root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let paths = pages.chain([page::root().join("README.md")]);
    paths.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

/// Markdown does not show the name after the fence.
#[test]
fn each_file_of_a_page_is_named_in_its_prose() {
    let mut seen = 0;
    for (name, text) in documents() {
        let (blocks, prose) = page::split(&text);
        let prose = prose.join("\n");
        let words = blocks.iter().filter_map(|block| block.kind.split_once(' '));
        // A file has an extension, and the second word of `sh setup` has none.
        for (_, file) in words.filter(|(_, file)| file.contains('.')) {
            assert!(prose.contains(&format!("`{file}`")), "{name}: a reader does not see the name {file}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} files");
}

#[test]
fn commands_need_no_later_curl_than_that_of_ubuntu_22_04() {
    for (name, text) in documents() {
        let blocks = page::split(&text).0;
        for block in blocks.iter().filter(|block| block.kind.starts_with("sh")) {
            check_for_curl_of_ubuntu(&name, &block.text);
        }
    }
    for file in ["openapi.yaml", "adapters/pages/page/reference/sandbox.html"] {
        check_for_curl_of_ubuntu(file, &fs::read_to_string(page::root().join(file)).unwrap());
    }
}

fn check_for_curl_of_ubuntu(name: &str, commands: &str) {
    // Ubuntu 22.04 has 7.81. These came with 7.82 and 7.84.
    for newer in ["--json", "%header{"] {
        let found = commands.lines().find(|line| line.contains(newer));
        assert_eq!(found, None, "{name}: curl 7.81 lacks {newer}");
    }
}

#[test]
fn a_wait_for_a_server_that_has_ended_prints_its_log() {
    let mut seen = 0;
    for (name, text) in documents() {
        let blocks = page::split(&text).0;
        for block in blocks.iter().filter(|block| block.kind.starts_with("sh")) {
            let waits = block.text.matches("until ").count();
            let ends = block.text.matches("|| { cat ").count();
            assert!(waits <= ends, "{name}: a wait does not end\n{}", block.text);
            seen += waits;
        }
    }
    assert!(seen > 10, "{seen} waits");
}

fn curl() -> (PathBuf, &'static str) {
    ("curl".into(), "--version")
}

#[test]
fn the_page_about_embedding_has_the_right_number_of_packages() {
    let page = fs::read_to_string(page::root().join("docs/embed.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut seen = 0;
    for (package, row) in rows {
        let args = ["tree", "--locked", "-q", "--edges", "normal,build", "--prefix", "none", "--package"];
        let tree = Command::new(env!("CARGO")).args(args).arg(package).current_dir(page::root()).output();
        let tree = String::from_utf8(tree.unwrap().stdout).unwrap();
        let packages: BTreeSet<Vec<&str>> =
            tree.lines().map(|line| line.split(' ').take(2).collect()).collect();
        let told = row.trim_end_matches(" |").rsplit(' ').next().unwrap();
        assert_eq!(told, packages.len().to_string(), "{package}\n{tree}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn the_page_for_operators_works_as_printed() {
    run("operate.md", &[curl(), ("openssl".into(), "version")]);
}

#[test]
fn the_page_about_testing_works_as_printed() {
    let pytest = tools::python("pytest");
    run(
        "testing.md",
        &[curl(), (pytest, "--version"), ("node".into(), "--version"), ("rustc".into(), "--version")],
    );
}

#[test]
fn the_page_about_tests_in_go_works_as_printed() {
    run("testing-go.md", &[("go".into(), "version")]);
}

#[test]
fn the_page_about_tests_in_java_works_as_printed() {
    if !Path::new("/usr/share/java/junit-jupiter-api.jar").exists() {
        tools::skips::skip("there is no JUnit 5 in /usr/share/java");
        return;
    }
    run("testing-java.md", &[("javac".into(), "--version")]);
}

#[test]
fn the_page_about_webhooks_works_as_printed() {
    let of_languages = [
        ("openssl", "version"),
        ("python3", "--version"),
        ("node", "--version"),
        ("go", "version"),
        ("php", "--version"),
        ("ruby", "--version"),
        ("rustc", "--version"),
    ];
    let of_languages = of_languages.map(|(program, version)| (program.into(), version));
    run("webhooks.md", &[&[curl()][..], &of_languages].concat());
}

#[test]
fn an_agent_is_tested_as_its_page_says() {
    let text = fs::read_to_string(page::root().join("docs/agents.md")).unwrap();
    for (file, before, package, between) in [
        ("requirements.txt", "", "fastmcp", "=="),
        ("package.json", "\"", "@modelcontextprotocol/sdk", "\": \""),
    ] {
        let pinned = fs::read_to_string(tools::folder().join(file)).unwrap();
        let start = format!("{before}{package}{between}");
        let version =
            pinned.lines().find_map(|line| line.trim().strip_prefix(&start)).expect("it is installed");
        let version = version.trim_end_matches([',', '"']);
        let told = [format!("{package}=={version}`"), format!("{package}@{version}`")];
        assert!(told.iter().any(|told| text.contains(told)), "the page names another version of {package}");
    }
    let has_packages = tools::has(&tools::python("fastmcp"))
        && tools::has(&tools::folder().join("node_modules/@modelcontextprotocol/sdk"));
    if !has_packages || !tools::can_run("curl", "--version") || !tools::can_run("node", "--version") {
        return;
    }
    let site = Site::new("agents.md");
    // Node looks for packages beside the program.
    let modules = tools::folder().join("node_modules").canonicalize().unwrap();
    symlink(modules, site.folder.join("node_modules")).unwrap();
    page::run_in(&site, "agents.md", &page::Surroundings::default());
}

#[test]
fn a_client_is_examined_as_its_page_says() {
    run("exam.md", &[curl()]);
}

#[test]
fn the_page_about_events_works_as_printed() {
    run("events.md", &[curl(), ("python3".into(), "--version"), ("node".into(), "--version")]);
}
