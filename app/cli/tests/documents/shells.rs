//! Completions for shells, as fish uses them, and manual pages, which refer to each other.

use std::fs;
use std::process::Command;

use crate::common::{Site, tools};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn fish_completes_values_before_and_after_a_command() {
    if !tools::can_run("fish", "--version") {
        return;
    }
    let site = Site::new("fish");
    fs::write(site.folder.join("petstore.fish"), site.run(&["completions", "fish"]).stdout).unwrap();
    let cases: [(&str, &[&str]); 7] = [
        ("--log ", &["errors", "off", "requests"]),
        ("--gzip ", &["false", "true"]),
        ("--log errors --log-format ", &["auto", "json", "text"]),
        ("serve --log ", &["errors", "off", "requests"]),
        ("keys create --plan ", &["business", "enterprise", "free", "pro"]),
        ("completions ", &["bash", "elvish", "fish", "powershell", "zsh"]),
        ("--log errors ex", &["exam", "export"]),
    ];
    for (line, expected) in cases {
        let script = format!("source petstore.fish; complete -C 'petstore {line}'");
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", &script]).current_dir(&site.folder).env("HOME", &site.folder);
        let output = fish.output().unwrap();
        let printed = text(&output.stdout);
        let mut offered: Vec<_> = printed.lines().map(|line| line.split('\t').next().unwrap()).collect();
        offered.sort_unstable();
        assert_eq!(offered, expected, "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn the_manual_names_its_version_and_only_existing_pages() {
    let site = Site::new("man");
    assert!(site.run(&["man", "--into", "."]).status.success());
    let version = text(&site.run(&["--version"]).stdout);
    let version = version.split(' ').nth(1).unwrap();
    let pages: Vec<_> = fs::read_dir(&site.folder).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        let written = fs::read_to_string(page).unwrap();
        let title = written.lines().find(|line| line.starts_with(".TH ")).unwrap();
        assert!(title.contains(&format!("\"petstore {version}\"")), "{title}");
        for word in written.replace("\\-", "-").split_whitespace().filter(|word| word.ends_with("(1)")) {
            let other = site.folder.join(word.replace("(1)", ".1"));
            assert!(other.exists(), "{} leads to {word}", page.display());
        }
    }
}
