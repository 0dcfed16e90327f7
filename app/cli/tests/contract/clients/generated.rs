//! The clients of openapi-generator. One run generates all of them, because most of the time of a run is the start of
//! the JVM.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::{folder, run, source};
use crate::common::tools;

/// The generators, each with its options as on the command line.
const ROWS: [(&str, &str); 8] = [
    ("python", "--additional-properties=packageName=petstore_client"),
    ("typescript-axios", "--additional-properties=importFileExtension=.js"),
    ("typescript-fetch", "--additional-properties=importFileExtension=.js"),
    (
        "go",
        "--additional-properties=packageName=petstore,withGoMod=false \
         --model-name-mappings=NewPet=PetInput,NewCategory=CategoryInput,NewOrder=OrderInput,NewWebhook=WebhookInput",
    ),
    ("php", "--additional-properties=invokerPackage=PetstoreClient"),
    ("ruby", "--additional-properties=gemName=petstore_client"),
    ("c", ""),
    (
        "java",
        "--library=native --additional-properties=openApiNullable=false,useJakartaEe=true,\
         invokerPackage=petstore,apiPackage=petstore.api,modelPackage=petstore.model",
    ),
];

/// JVM flags for a short run: only the first-stage compiler, and a garbage collector without threads.
const JVM: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/// The folder with all clients, created at the first use.
static CLIENTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let clients = folder("openapi-generator");
    let settings = ROWS.map(|(generator, options)| {
        let file = clients.join(format!("{generator}.yaml"));
        let contract = source("openapi.yaml");
        let output = clients.join(generator);
        let head = format!(
            "generatorName: {generator}\ninputSpec: {}\noutputDir: {}\n",
            contract.display(),
            output.display()
        );
        std::fs::write(&file, head + &settings(options)).unwrap();
        file
    });
    run(Command::new(tools::python("openapi-generator-cli"))
        .args(["batch", "--fail-fast", "--root-dir", "/"])
        .args(settings)
        .env("JAVA_TOOL_OPTIONS", JVM));
    clients
});

/// Returns the folder of a generator's client. If the generator is not installed, reports that and returns none.
pub(super) fn client(generator: &str) -> Option<PathBuf> {
    assert!(ROWS.iter().any(|(name, _)| *name == generator), "{generator} has no row");
    tools::can_run(tools::python("openapi-generator-cli"), "version").then(|| CLIENTS.join(generator))
}

/// Returns the options of a command line in the form of a settings file.
fn settings(options: &str) -> String {
    let mut settings = String::new();
    for option in options.split_whitespace() {
        let (name, value) = option.trim_start_matches("--").split_once('=').unwrap();
        match name {
            "library" => writeln!(settings, "library: {value}").unwrap(),
            "additional-properties" | "model-name-mappings" => {
                let (first, rest) = name.split_once('-').unwrap();
                let rest = rest.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
                writeln!(settings, "{first}{}:", rest.collect::<String>()).unwrap();
                for pair in value.split(',') {
                    let (key, value) = pair.split_once('=').unwrap();
                    writeln!(settings, "  {key}: {value}").unwrap();
                }
            }
            _ => panic!("{name} is not known here"),
        }
    }
    settings
}

/// Returns the command that `docs/import.md` has for another generator, to be run in a folder with a copy of the
/// contract, unless the folder has another one already.
pub(super) fn documented(generator: &Path, folder: &Path) -> Command {
    let page = std::fs::read_to_string(source("docs/import.md")).unwrap();
    let name = generator.file_name().unwrap().to_str().unwrap();
    let (_, command) =
        page.split_once(&format!("`{name} ")).unwrap_or_else(|| panic!("no command of {name}"));
    let arguments = command.split('`').next().unwrap().split_whitespace();
    if !folder.join("openapi.yaml").exists() {
        std::fs::copy(source("openapi.yaml"), folder.join("openapi.yaml")).unwrap();
    }
    let mut command = Command::new(generator);
    command.args(arguments).current_dir(folder);
    command
}

/// The options in `docs/import.md` are the tested ones.
#[test]
fn the_page_has_the_options_of_each_row() {
    let page = std::fs::read_to_string(source("docs/import.md")).unwrap();
    for (generator, options) in ROWS {
        let command = format!("`{}`", ["-g", generator, options].join(" ").trim());
        assert!(page.contains(&command), "docs/import.md has no {command}");
    }
}

#[test]
fn options_become_settings() {
    let settings = settings("--library=native --additional-properties=a=b,c=.js --model-name-mappings=A=B");
    let expected = "library: native\nadditionalProperties:\n  a: b\n  c: .js\nmodelNameMappings:\n  A: B\n";
    assert_eq!(settings, expected);
}
