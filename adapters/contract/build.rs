//! Derives the JSON form of the contract, its versions in OpenAPI 3.1 and 3.2, its compact form and its tools from the YAML one,
//! so that a program needs no YAML.

#[path = "build/compact.rs"]
mod compact;
#[path = "build/openapi_31.rs"]
mod openapi_31;
#[path = "build/openapi_32.rs"]
mod openapi_32;
#[path = "build/tools.rs"]
mod tools;

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

/// A symbolic link to the file at the root of the repository. A package has the file itself.
const SOURCE: &str = "openapi.yaml";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build");
    let written = fs::read_to_string(SOURCE).expect("the crate has openapi.yaml");
    let document: Value = serde_saphyr::from_str(&written).expect("openapi.yaml is valid YAML");
    write("openapi.json", &json(&document));
    let compacted = compact::compact(&document);
    write("openapi-compact.json", &json(&compacted));
    write("tools.json", &json(&tools::tools(&compacted)));
    let upgraded = openapi_31::upgrade(document);
    write("openapi-3.1.json", &json(&upgraded));
    write("openapi-3.1.yaml", &yaml(&upgraded, "3.1"));
    let upgraded = openapi_32::upgrade(upgraded);
    write("openapi-3.2.json", &json(&upgraded));
    write("openapi-3.2.yaml", &yaml(&upgraded, "3.2"));
}

/// Writes a file for `include_str!`.
fn write(name: &str, text: &str) {
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join(name), text).expect("OUT_DIR can be written");
}

fn json(document: &Value) -> String {
    plain(&serde_json::to_string(document).expect("a JSON value can be written"))
}

fn yaml(document: &Value, version: &str) -> String {
    let options = serde_saphyr::ser_options! { compact_list_indent: false, prefer_block_scalars: true };
    let yaml = serde_saphyr::to_string_with_options(document, options).expect("a JSON value can be written");
    format!(
        "# The contract of the petstore service in OpenAPI {version}, derived from its OpenAPI 3.0.3 document.\n{yaml}"
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
