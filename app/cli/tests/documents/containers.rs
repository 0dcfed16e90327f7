//! The recipes for Testcontainers. They need a container engine and packages that are not here, so their settings are given to
//! the binary as the image gives them, and their source is checked as far as the compilers can without those packages.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Client, Site, page, tools};

/// Returns the block of a page that contains this text.
fn block(name: &str, part: &str) -> String {
    let text = fs::read_to_string(page::root().join("docs").join(name)).unwrap();
    let found: Vec<_> = page::split(&text).0.into_iter().filter(|block| block.text.contains(part)).collect();
    assert_eq!(found.len(), 1, "{name}: {part}");
    found.into_iter().next().unwrap().text
}

/// Returns the texts in quotation marks between two marks.
fn quoted(text: &str, begin: &str, end: &str) -> Vec<String> {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (list, _) = rest.split_once(end).unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The variables of the image.
fn variables() -> Vec<(String, String)> {
    let file = fs::read_to_string(page::root().join("app/package/Dockerfile")).unwrap();
    let (_, rest) = file.split_once("\nENV ").unwrap();
    let (list, _) = rest.split_once("\nEXPOSE ").unwrap();
    let words = list.split_whitespace().filter_map(|word| word.split_once('='));
    words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn serves_with(name: &str, flags: &[String], variable: &[String]) {
    let mut site = Site::new(name);
    let mut settings = variables();
    assert_eq!(settings.len(), 3, "{settings:?}");
    settings.push((variable[0].clone(), variable[1].clone()));
    let settings: Vec<_> = settings
        .into_iter()
        .map(|(name, value)| {
            let folder = format!("{}/", site.folder.display());
            (name, value.replace("8080", &site.port.to_string()).replace("/data/", &folder))
        })
        .collect();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    site.serve(&flags, &settings);
    let key = fs::read_to_string(site.folder.join("initial-key")).unwrap();
    let mut client = Client::connect(site.port, key.trim()).unwrap();
    assert_eq!(client.ask("GET", "/ready", "", "").unwrap().status, 200);
    assert!(client.ask("GET", "/v1/pets?id=1", "", "").unwrap().body.contains("Luna 1"));
    assert_eq!(client.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    // Memory is chosen by a variable of the recipe, over that of the image.
    assert!(!site.folder.join("petstore.db").exists());
}

#[test]
fn the_containers_of_java_tests_serve_a_sandbox() {
    let recipe = block("testing-java.md", "org.testcontainers");
    serves_with(
        "containers-java",
        &quoted(&recipe, "withCommand(", ");"),
        &quoted(&recipe, "withEnv(", ");"),
    );
    assert!(recipe.contains("\"/data/initial-key\"") && recipe.contains("forHttp(\"/ready\")"));
}

#[test]
fn the_containers_of_go_tests_serve_a_sandbox() {
    let recipe = block("testing-go.md", "testcontainers-go");
    let variable = quoted(&recipe, "map[string]string{", "}");
    serves_with("containers-go", &quoted(&recipe, "Cmd:", "},"), &variable);
    assert!(recipe.contains("\"/data/initial-key\"") && recipe.contains("ForHTTP(\"/ready\")"));
    if !tools::can_run("gofmt", "-h") {
        return;
    }
    let mut format = Command::new("gofmt");
    format.arg("-l").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut format = format.spawn().unwrap();
    std::io::Write::write_all(&mut format.stdin.take().unwrap(), recipe.as_bytes()).unwrap();
    let judged = format.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[judged.stdout, judged.stderr].concat()).into_owned();
    assert_eq!((judged.status.success(), said.as_str()), (true, ""));
}

/// The compiler reads all of the source before it misses the packages, and reports each fault of syntax alone.
#[test]
fn the_java_recipe_has_no_fault_of_syntax() {
    if !tools::can_run("javac", "--version") {
        return;
    }
    let site = Site::new("containers-javac");
    let recipe = block("testing-java.md", "org.testcontainers");
    let compiled = |source: &str| {
        let file = site.folder.join("PetstoreContainer.java");
        fs::write(&file, source).unwrap();
        let output =
            Command::new("javac").args(["-proc:none", "-d"]).arg(&site.folder).arg(file).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = compiled(&recipe);
    assert!(missing.contains("package org.testcontainers") && !missing.contains("expected"), "{missing}");
    let broken = compiled(&recipe.replacen(';', "", 1));
    assert!(broken.contains("expected"), "{broken}");
}
