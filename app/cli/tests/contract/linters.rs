//! The linters Redocly, and Spectral with the rules of OWASP. `tests/tools/redocly.yaml` and
//! `tests/tools/spectral.yaml` select the rules.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Client, Site, tools};

/// A folder with the forms of the contract, and with a further file that has planted faults, which a linter must find.
struct Forms {
    site: Site,
}

/// A fault: the file in which it is, and the rule that it breaks.
type Fault = (String, String);

const FORMS: [&str; 3] = ["printed.yaml", "served.json", "upgraded.yaml"];
/// The forms that only Redocly takes: Spectral does not know OpenAPI 3.2, and its rules of OWASP ask for what the compact form
/// leaves out, such as the bodies of errors.
const FORMS_FOR_REDOCLY: [&str; 2] = ["upgraded-3.2.yaml", "compact.json"];
const PLANTED: &str = "planted.json";

impl Forms {
    /// Creates the forms: printed by the binary, served under another base path, served in OpenAPI 3.1 and 3.2, and compact.
    fn collect(name: &str) -> Self {
        let mut site = Site::new(name);
        let printed = site.run(&["openapi"]).stdout;
        let source = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml")).unwrap();
        assert!(printed == source, "`petstore openapi` prints something else than openapi.yaml");
        std::fs::write(site.folder.join(FORMS[0]), printed).unwrap();

        site.serve(&["--db", "memory", "--base-path", "/shop"], &[]);
        let mut client = Client::connect(site.port, "").unwrap();
        let served = client.ask("GET", "/openapi.json", "", "").unwrap().body;
        std::fs::write(site.folder.join(FORMS[1]), &served).unwrap();
        let upgraded = client.ask("GET", "/openapi-3.1.yaml", "", "").unwrap().body;
        assert!(upgraded.contains("\nopenapi: \"3.1.0\"\n") && upgraded.contains("\n  - url: /shop\n"));
        std::fs::write(site.folder.join(FORMS[2]), &upgraded).unwrap();
        let others = [("/openapi-3.2.yaml", "--spec-version=3.2"), ("/openapi-compact.json", "--compact")];
        for (name, (path, option)) in FORMS_FOR_REDOCLY.iter().zip(others) {
            let served = client.ask("GET", path, "", "").unwrap();
            assert_eq!(served.status, 200, "{path}");
            let printed = site.run(&["openapi", "--base-path", "/shop", option]).stdout;
            assert!(printed == served.body.as_bytes(), "{option} prints something else than {path}");
            std::fs::write(site.folder.join(name), printed).unwrap();
        }
        let planted = plant(serde_json::from_str(&served).unwrap());
        std::fs::write(site.folder.join(PLANTED), planted.to_string()).unwrap();
        Self { site }
    }

    /// Runs a linter on these forms and the planted one, and parses its output: one JSON value for all, or one for each.
    fn lint(&self, program: &Path, args: &[&str], forms: &[&str]) -> Vec<Value> {
        let mut command = Command::new(program);
        command.args(args).args(forms).arg(PLANTED).current_dir(&self.site.folder);
        // Without these variables, Redocly would send telemetry and look for a newer version.
        command.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let reports: Result<Vec<_>, _> = serde_json::Deserializer::from_str(&printed).into_iter().collect();
        reports
            .unwrap_or_else(|error| panic!("{error}: {printed}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// Plants a repeated name, an example that violates its schema, and a list and a string without a bound.
fn plant(mut document: Value) -> Value {
    // The faults need one path only, and a small document is checked faster.
    document["paths"].as_object_mut().unwrap().retain(|path, _| path == "/pets");
    document["paths"]["/pets"]["post"]["operationId"] = json!("listPets");
    document["components"]["schemas"]["Pet"]["example"] = json!({"id": "ten"});
    document["components"]["examples"]["NewestPet"]["value"] = json!({"id": "ten"});
    document["components"]["schemas"]["Pets"].as_object_mut().unwrap().remove("maxItems").unwrap();
    document["components"]["schemas"]["PetName"].as_object_mut().unwrap().remove("maxLength").unwrap();
    document
}

/// Checks that a linter has found each planted fault, and no fault in the contract itself.
fn judge(faults: Vec<Fault>, planted: &[&str]) {
    let (found, faults): (Vec<_>, Vec<_>) = faults.into_iter().partition(|(form, _)| form == PLANTED);
    for rule in planted {
        assert!(
            found.iter().any(|(_, broken)| broken == rule),
            "the violation of {rule} was not found: {found:?}"
        );
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn config(name: &str) -> PathBuf {
    tools::folder().join(name).canonicalize().unwrap()
}

fn file_name(path: &Value) -> String {
    let path = Path::new(path.as_str().expect("a fault is in a file"));
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn redocly_finds_nothing() {
    let redocly = tools::node("redocly");
    if !tools::can_run(&redocly, "--version") {
        return;
    }
    let forms = Forms::collect("redocly");
    let config = config("redocly.yaml");
    let names = [&FORMS[..], &FORMS_FOR_REDOCLY].concat();
    let args = ["lint", "--format=json", "--config", config.to_str().unwrap()];
    let reports = forms.lint(&redocly, &args, &names);
    assert_eq!(reports.len(), names.len() + 1);
    let problems =
        reports.iter().flat_map(|report| report["problems"].as_array().expect("a list of problems"));
    let faults = problems.map(|problem| {
        let place = &problem["location"][0];
        let fault = format!("{} {}: {}", problem["ruleId"], place["pointer"], problem["message"]);
        let form = file_name(&place["source"]["ref"]);
        let rule = problem["ruleId"].as_str().unwrap_or_default().to_owned();
        (form.clone(), if form == PLANTED { rule } else { fault })
    });
    judge(
        faults.collect(),
        &["operation-operationId-unique", "no-invalid-schema-examples", "no-invalid-media-type-examples"],
    );
}

#[test]
fn spectral_finds_nothing() {
    let spectral = tools::node("spectral");
    if !tools::can_run(&spectral, "--version") {
        return;
    }
    let forms = Forms::collect("spectral");
    let config = config("spectral.yaml");
    let reports = forms.lint(
        &spectral,
        &["lint", "--format=json", "--quiet", "--fail-severity=hint", "--ruleset", config.to_str().unwrap()],
        &FORMS,
    );
    let faults =
        reports.iter().flat_map(|report| report.as_array().expect("a list of faults")).map(|fault| {
            let form = file_name(&fault["source"]);
            let rule = fault["code"].as_str().unwrap_or_default();
            let told = if form == PLANTED { rule.to_owned() } else { format!("{rule} {}", fault["path"]) };
            (form, told)
        });
    judge(
        faults.collect(),
        &[
            "operation-operationId-unique",
            "oas3-valid-media-example",
            "owasp:api4:2023-array-limit",
            "owasp:api4:2023-string-limit",
        ],
    );
}
