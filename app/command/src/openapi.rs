//! The contract: as YAML, as JSON, in three versions of OpenAPI, in a compact form, and as the reference page.

use std::sync::Arc;

use bytes::Bytes;
use petstore_contract::{COMPACT, JSON, JSON_31, JSON_32, TOOLS, YAML, YAML_31, YAML_32};
use petstore_http::{Documents, PageFile};
use petstore_pages::{File, reference};

/// The base path in the written contract.
pub(crate) const BASE_PATH: &str = "/v1";

/// The contract with another base path. Only the value of `servers` differs.
pub(crate) fn documents(base_path: &str) -> Documents {
    let page = page();
    if base_path == BASE_PATH {
        return Documents {
            yaml: Bytes::from_static(YAML.as_bytes()),
            json: Bytes::from_static(JSON.as_bytes()),
            yaml_31: Bytes::from_static(YAML_31.as_bytes()),
            json_31: Bytes::from_static(JSON_31.as_bytes()),
            yaml_32: Bytes::from_static(YAML_32.as_bytes()),
            json_32: Bytes::from_static(JSON_32.as_bytes()),
            compact: Bytes::from_static(COMPACT.as_bytes()),
            tools: Bytes::from_static(TOOLS.as_bytes()),
            page,
            console: Arc::default(),
        };
    }
    let url = if base_path.is_empty() { "/" } else { base_path };
    let yaml = |text: &str| text.replacen("\n  - url: /v1\n", &format!("\n  - url: {url}\n"), 1).into();
    let json = |text: &str| text.replacen("[{\"url\":\"/v1\"", &format!("[{{\"url\":\"{url}\""), 1).into();
    Documents {
        yaml: yaml(YAML),
        json: json(JSON),
        yaml_31: yaml(YAML_31),
        json_31: json(JSON_31),
        yaml_32: yaml(YAML_32),
        json_32: json(JSON_32),
        compact: json(COMPACT),
        // Their paths are those below the base path.
        tools: Bytes::from_static(TOOLS.as_bytes()),
        page,
        console: Arc::default(),
    }
}

/// The reference page, which reads the JSON form.
fn page() -> Arc<[PageFile]> {
    reference::FILES.iter().map(page_file).collect()
}

/// A file of a page, as the server takes it.
pub(crate) fn page_file(file: &File) -> PageFile {
    PageFile::new(file.name, file.content_type, file.gzip)
}

/// The reference page of a sandbox, with a note. `origin` is the address of the sandbox. `is_here` is true if the page
/// has the same address.
pub(crate) fn page_of_sandbox(origin: &str, is_here: bool) -> Arc<[PageFile]> {
    let file = |file: &File| match file.name {
        "" => PageFile::of("", file.content_type, reference::page_of_sandbox(origin, is_here)),
        _ => page_file(file),
    };
    reference::FILES.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_base_path_changes_one_line() {
        let here = documents(BASE_PATH);
        let there = documents("/shop");
        for (here, there) in
            [(&here.yaml, &there.yaml), (&here.yaml_31, &there.yaml_31), (&here.yaml_32, &there.yaml_32)]
        {
            let (here, there) = (String::from_utf8_lossy(here), String::from_utf8_lossy(there));
            let changed: Vec<_> = here.lines().zip(there.lines()).filter(|(a, b)| a != b).collect();
            assert_eq!(changed, [("  - url: /v1", "  - url: /shop")]);
        }
        for json in [there.json, there.json_31, there.json_32, there.compact] {
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(json["servers"][0]["url"], "/shop");
        }
    }
}
