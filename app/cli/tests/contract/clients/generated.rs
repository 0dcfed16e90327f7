//! The clients of openapi-generator. One run generates all of them, because most of the time of a run is the start of
//! the JVM.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::{files, folder, run, source};
use crate::common::tools;

/// The generators, each with its options as on the command line.
const ROWS: [(&str, &str); 9] = [
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
    (
        "spring",
        "--library=spring-boot --additional-properties=interfaceOnly=true,useSpringBoot3=true,openApiNullable=false,\
         documentationProvider=none,annotationLibrary=none",
    ),
];

/// The generators whose clients are also made from the contract in OpenAPI 3.1, each with the extension of its sources.
const ROWS_31: [(&str, &str); 5] =
    [("python", "py"), ("typescript-fetch", "ts"), ("go", "go"), ("java", "java"), ("spring", "java")];

/// The version of OpenAPI in which a generator gets the contract.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V30,
    V31,
}

impl Version {
    /// Returns the name of a client's folder.
    pub(super) fn folder(self, generator: &str) -> String {
        match self {
            Self::V30 => generator.to_owned(),
            Self::V31 => format!("{generator}-3-1"),
        }
    }
}

/// JVM flags for a short run: only the first-stage compiler, and a garbage collector without threads.
const JVM: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/// The folder with all clients, created at the first use.
static CLIENTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let clients = folder("openapi-generator");
    let upgraded = clients.join("openapi-3.1.yaml");
    std::fs::write(&upgraded, printed_31()).unwrap();
    let from_31 = ROWS.iter().filter(|(name, _)| ROWS_31.iter().any(|(other, _)| name == other));
    let rows = ROWS.iter().map(|row| (Version::V30, row)).chain(from_31.map(|row| (Version::V31, row)));
    let settings = rows.map(|(version, (generator, options))| {
        let name = version.folder(generator);
        let file = clients.join(format!("{name}.yaml"));
        let contract = if version == Version::V31 { upgraded.clone() } else { source("openapi.yaml") };
        let output = clients.join(name);
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

/// Returns the contract in OpenAPI 3.1, as the binary prints it.
pub(super) fn printed_31() -> String {
    run(Command::new(env!("CARGO_BIN_EXE_petstore")).args(["openapi", "--spec-version", "3.1"]))
}

/// Returns the folder of a generator's client. If the generator is not installed, reports that and returns none.
pub(super) fn client(generator: &str) -> Option<PathBuf> {
    client_from(generator, Version::V30)
}

/// Returns the folder of a generator's client from the contract in a version of OpenAPI.
pub(super) fn client_from(generator: &str, version: Version) -> Option<PathBuf> {
    let has_row = match version {
        Version::V30 => ROWS.iter().any(|(name, _)| *name == generator),
        Version::V31 => ROWS_31.iter().any(|(name, _)| *name == generator),
    };
    assert!(has_row, "{generator} has no row");
    let is_there = tools::can_run(tools::python("openapi-generator-cli"), "version");
    is_there.then(|| CLIENTS.join(version.folder(generator)))
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

/// Each operation of paths and webhooks has a method in each client from OpenAPI 3.1: no file has replaced another one.
#[test]
fn no_client_from_openapi_3_1_lacks_an_operation() {
    let contract: Value = serde_saphyr::from_str(&printed_31()).unwrap();
    let items = ["paths", "webhooks"].map(|part| contract[part].as_object().unwrap().values());
    let members = items.into_iter().flatten().flat_map(|item| item.as_object().unwrap().values());
    let ids: Vec<_> = members.filter_map(|operation| operation.get("operationId")?.as_str()).collect();
    assert!(ids.contains(&"createWebhook") && ids.contains(&"onOrderPlaced"), "{ids:?}");
    for (generator, extension) in ROWS_31 {
        let Some(client) = client_from(generator, Version::V31) else { return };
        let texts = files(&client, extension).into_iter().map(|file| std::fs::read_to_string(file).unwrap());
        // The clients differ in upper case and underscores.
        let text = texts.collect::<String>().replace('_', "").to_ascii_lowercase();
        let lacks = |id: &&&str| !text.contains(&format!(" {}(", id.to_ascii_lowercase()));
        let missing: Vec<_> = ids.iter().filter(lacks).collect();
        assert!(missing.is_empty(), "{generator} has no {missing:?}");
    }
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
