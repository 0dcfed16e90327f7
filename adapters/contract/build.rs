//! Derives the JSON form of the contract and its OpenAPI 3.1 version from the YAML one, so that a program needs no YAML.

#[path = "build/openapi_31.rs"]
mod openapi_31;

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

/// A symbolic link to the file at the root of the repository. A package has the file itself.
const SOURCE: &str = "openapi.yaml";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build");
    let yaml = fs::read_to_string(SOURCE).expect("the crate has openapi.yaml");
    let document: Value = serde_saphyr::from_str(&yaml).expect("openapi.yaml is valid YAML");
    write("openapi.json", &json(&document));
    let upgraded = openapi_31::upgrade(document);
    write("openapi-3.1.json", &json(&upgraded));
    write("openapi-3.1.yaml", &yaml_31(&upgraded));
}

/// Writes a file for `include_str!`.
fn write(name: &str, text: &str) {
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join(name), text).expect("OUT_DIR can be written");
}

fn json(document: &Value) -> String {
    plain(&serde_json::to_string(document).expect("a JSON value can be written"))
}

fn yaml_31(document: &Value) -> String {
    let options = serde_saphyr::ser_options! { compact_list_indent: false, prefer_block_scalars: true };
    let yaml = serde_saphyr::to_string_with_options(document, options).expect("a JSON value can be written");
    format!(
        "# The contract of the petstore service in OpenAPI 3.1, derived from its OpenAPI 3.0.3 document.\n{yaml}"
    )
}

/// Escapes the characters that YAML does not allow, so that the JSON is also valid YAML. These characters occur only in
/// strings, where an escape has the same meaning.
fn plain(json: &str) -> String {
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        _ => c.to_string(),
    };
    json.chars().map(escaped).collect()
}
