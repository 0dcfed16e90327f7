//! Derives the JSON form of the contract from the YAML one, so that the binary needs no YAML.

use std::path::Path;
use std::{env, fs};

fn main() {
    const SOURCE: &str = "../../openapi.yaml";
    println!("cargo::rerun-if-changed={SOURCE}");
    let yaml = fs::read_to_string(SOURCE).expect("openapi.yaml is at the workspace's root");
    let document: serde_json::Value = serde_saphyr::from_str(&yaml).expect("openapi.yaml is valid YAML");
    let json = serde_json::to_string(&document).expect("a JSON value can be written");
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("openapi.json"), json).expect("OUT_DIR can be written");
}
