//! The pictures of the documents: each has an alternative text and two schemes, is small, and shows what the console has today.
//! `docs/pictures/make` makes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::common::{page, tools};

/// The documents with a picture.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/testing.md", "PERFORMANCE.md"];

/// The number of bytes that each picture stays below.
const SIZE_END: u64 = 150_000;

/// The advice of each failure.
const AGAIN: &str = "make it again: bash docs/pictures/make PETSTORE";

/// A panel of the console that a picture shows. The design of the page may change without a new picture; its labels may not.
struct Panel {
    /// The name of its pictures, and of the file with the labels that they show.
    name: &'static str,
    /// Its parts of the page: the texts before and after each of them.
    parts: &'static [(&'static str, &'static str)],
    /// The script that draws it.
    script: &'static str,
    /// The names of methods, and labels of other states of the panel and of narrow screens, which the picture does not show.
    unseen: &'static [&'static str],
}

const PANELS: [Panel; 2] = [
    Panel {
        name: "requests",
        parts: &[
            ("<header", "</header>"),
            ("<div id=\"tools\"", "</div>"),
            ("<div class=\"list-head\"", "</div>"),
        ],
        script: "detail.js",
        unseen: &[
            "Back to the list",
            "Connecting",
            "DELETE",
            "Error code",
            "Fault by Prefer",
            "GET",
            "HEAD",
            "PATCH",
            "POST",
            "PUT",
            "Planned fault",
            "Show all",
            "Show all of it",
            "Tool (MCP)",
            // A part of a link that only wider screens have.
            "reference",
        ],
    },
    Panel {
        name: "report",
        parts: &[("<header", "</header>"), ("<section id=\"report\"", "</section>")],
        script: "report.js",
        unseen: &[
            "Connecting",
            "No report",
            "No rule is broken",
            "Nothing to report yet",
            "Without a valid key",
            "reference",
        ],
    },
];

fn folder() -> PathBuf {
    page::root().join("docs/pictures")
}

/// Returns a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(page::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn console(file: &str) -> String {
    read(&format!("adapters/pages/page/console/{file}"))
}

/// Returns what is between two texts.
fn between<'text>(text: &'text str, before: &str, after: &str) -> &'text str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("there is no {before}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("there is no {after}")).0
}

/// Returns the texts of links, fields, buttons and headings that are on the screen.
fn labels_of_page(html: &str) -> BTreeSet<String> {
    let elements = html.split('<').filter_map(|piece| piece.split_once('>'));
    let labelled = elements.filter(|(tag, _)| {
        let name = tag.split(' ').next().unwrap_or_default();
        ["a", "label", "input", "button", "span", "h2", "h3"].contains(&name) && !tag.contains("off-screen")
    });
    labelled.map(|(_, text)| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// Returns the texts of a script that begin with a capital letter and are no sentences.
fn labels_of_script(script: &str) -> BTreeSet<String> {
    let code = script.lines().map(str::trim_start).filter(|line| !line.starts_with(['/', '*']));
    let quoted = code.flat_map(|line| line.split('\'').skip(1).step_by(2));
    let texts = quoted.map(|text| text.trim_end_matches([':', ' ']));
    let labels =
        texts.filter(|text| text.starts_with(|c: char| c.is_ascii_uppercase()) && !text.contains('.'));
    labels.map(str::to_owned).collect()
}

/// Returns the names of the rules of the report.
fn rules() -> BTreeSet<String> {
    let source = read("adapters/client-report/src/rules.rs");
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","));
    names.map(str::to_owned).collect()
}

#[test]
fn labels_are_found_in_a_page_and_in_a_script() {
    let html = "<h2 class=\"off-screen\">Keys</h2>\n<label class=\"check\"><input type=\"checkbox\"> Hints</label><p>Text <b>x</b></p>";
    assert_eq!(labels_of_page(html), BTreeSet::from(["Hints".to_owned()]));
    let script = "// Don't 'Ask'\n  ['Time', `${x} UTC`], el('dt', {}, 'Hints: '), 'No body.'";
    assert_eq!(labels_of_script(script), BTreeSet::from(["Hints".to_owned(), "Time".to_owned()]));
    assert!(rules().contains("waits"));
}

#[test]
fn the_pictures_of_the_console_have_its_labels() {
    let html = console("index.html");
    let mut known = labels_of_page(&html);
    for file in fs::read_dir(page::root().join("adapters/pages/page/console")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "js") {
            known.extend(labels_of_script(&fs::read_to_string(path).unwrap()));
        }
    }
    known.extend(rules());
    for Panel { name, parts, script, unseen } in PANELS {
        let shown: BTreeSet<_> =
            read(&format!("docs/pictures/{name}.txt")).lines().map(str::to_owned).collect();
        let gone: Vec<_> = shown.difference(&known).collect();
        assert!(gone.is_empty(), "the picture {name} has labels that the console has not: {gone:?}; {AGAIN}");
        let mut drawn = labels_of_script(&console(script));
        for (before, after) in parts {
            drawn.extend(labels_of_page(between(&html, before, after)));
        }
        if name == "report" {
            drawn.extend(rules());
        }
        let missing: Vec<_> = drawn.difference(&shown).map(String::as_str).collect();
        assert_eq!(missing, unseen, "labels of the console that the picture {name} has not; {AGAIN}");
    }
}

/// Returns the value of an attribute.
fn attribute<'tag>(tag: &'tag str, name: &str) -> &'tag str {
    between(tag, &format!("{name}=\""), "\"")
}

/// Returns the pictures of a document, each with its name.
fn pictures_of(document: &'static str) -> Vec<(&'static str, String)> {
    let text = read(document);
    let pictures = text.split("<picture>").skip(1);
    pictures.map(|rest| (document, rest.split("</picture>").next().unwrap().to_owned())).collect()
}

#[test]
fn the_picture_of_an_exam_has_the_labels_of_its_page() {
    let mut known = read("adapters/client-report/src/rules.rs");
    for file in fs::read_dir(page::root().join("adapters/client-report/src/page")).unwrap() {
        known += &fs::read_to_string(file.unwrap().path()).unwrap();
    }
    let shown = read("docs/pictures/exam.txt");
    let gone: Vec<_> = shown.lines().filter(|label| !known.contains(label)).collect();
    assert!(gone.is_empty(), "the picture exam has labels that the page has not: {gone:?}; {AGAIN}");
    for label in ["Scenarios", "Verdict", "The command", "Time line", "Rules", "waits"] {
        assert!(shown.lines().any(|line| line == label), "the picture exam has no {label}: {shown}");
    }
}

#[test]
fn each_picture_is_small_and_has_two_schemes_and_an_alternative_text() {
    let mut used = BTreeSet::new();
    let pictures: Vec<_> = DOCUMENTS.into_iter().flat_map(pictures_of).collect();
    assert!(DOCUMENTS.into_iter().all(|document| pictures.iter().any(|(name, _)| *name == document)));
    for (document, picture) in &pictures {
        let path = page::root().join(document);
        let (source, image) = picture.split_once("<img ").unwrap();
        assert_eq!(attribute(source, "media"), "(prefers-color-scheme: dark)", "{document}");
        let (light, dark) = (attribute(image, "src"), attribute(source, "srcset"));
        assert!(light.contains("-light."), "{document}: {light}");
        assert_eq!(light.replace("-light.", "-dark."), dark, "{document}");
        let alternative = attribute(image, "alt");
        assert!(alternative.len() > 100, "{document}: {alternative}");
        for target in [light, dark] {
            let file = path.parent().unwrap().join(target);
            let size =
                fs::metadata(&file).unwrap_or_else(|error| panic!("{document}: {target}: {error}")).len();
            assert!((1..SIZE_END).contains(&size), "{target} has {size} bytes; {AGAIN}");
            used.insert(file.file_name().unwrap().to_owned());
        }
    }
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let pictures = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "webp" || extension == "svg"));
    let kept: BTreeSet<_> = pictures.map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(kept, used, "the pictures, and those of the documents");
}

#[test]
fn the_curve_of_the_latency_is_that_of_its_data() {
    if !tools::can_run("awk", "--version") {
        return;
    }
    for scheme in ["light", "dark"] {
        let mut awk = Command::new("awk");
        awk.args([
            "-v",
            &format!("scheme={scheme}"),
            "-f",
            "tests/benches/plot.awk",
            "docs/pictures/latency.txt",
        ]);
        let output = awk.current_dir(page::root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let drawn = fs::read(folder().join(format!("latency-{scheme}.svg"))).unwrap();
        assert!(output.stdout == drawn, "latency-{scheme}.svg is not of its data; {AGAIN}");
    }
}
