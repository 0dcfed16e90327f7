//! The contract: as YAML, as JSON, and as the reference page.

use std::sync::Arc;

use bytes::Bytes;
use petstore_http::{Documents, PageFile};

/// The contract as it was written.
pub(crate) const YAML: &str = include_str!("../../../openapi.yaml");

/// The contract as JSON, made by the build script.
const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The base path in the written contract.
pub(crate) const BASE_PATH: &str = "/v1";

/// The contract with another base path. Only the value of `servers` differs.
pub(crate) fn documents(base_path: &str) -> Documents {
    let page = page();
    if base_path == BASE_PATH {
        return Documents {
            yaml: Bytes::from_static(YAML.as_bytes()),
            json: Bytes::from_static(JSON.as_bytes()),
            page,
        };
    }
    let url = if base_path.is_empty() { "/" } else { base_path };
    Documents {
        yaml: YAML.replacen("\n  - url: /v1\n", &format!("\n  - url: {url}\n"), 1).into(),
        json: JSON.replacen("[{\"url\":\"/v1\"", &format!("[{{\"url\":\"{url}\""), 1).into(),
        page,
    }
}

/// The reference page, which reads the JSON form.
fn page() -> Arc<[PageFile]> {
    let files = petstore_reference::FILES.iter();
    files.map(|file| PageFile::new(file.name, file.content_type, file.gzip)).collect()
}

/// The reference page of a sandbox, with a note. `origin` is the address of the sandbox. `is_here` is true if the page
/// has the same address.
pub(crate) fn page_of_sandbox(origin: &str, is_here: bool) -> Arc<[PageFile]> {
    let files = petstore_reference::FILES.iter();
    let file = |file: &petstore_reference::File| match file.name {
        "" => PageFile::of("", file.content_type, petstore_reference::page_of_sandbox(origin, is_here)),
        name => PageFile::new(name, file.content_type, file.gzip),
    };
    files.map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_base_path_changes_one_line() {
        let here = documents(BASE_PATH);
        let there = documents("/shop");
        let (here, there) = (String::from_utf8_lossy(&here.yaml), String::from_utf8_lossy(&there.yaml));
        let changed: Vec<_> = here.lines().zip(there.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(changed, [("  - url: /v1", "  - url: /shop")]);
        let json = documents("/shop").json;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["servers"][0]["url"], "/shop");
    }

    #[test]
    fn the_json_equals_the_yaml_and_is_valid_yaml() {
        let yaml: serde_json::Value = serde_saphyr::from_str(YAML).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(JSON).unwrap(), yaml);
        // Characters that YAML does not allow unescaped, or reads as a line end or a byte order mark.
        let foreign = |c: char| {
            matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        };
        let raw: Vec<_> = JSON.chars().filter(|c| foreign(*c)).collect();
        assert!(raw.is_empty(), "{raw:?}");
    }
}
