//! The contract, as it was written and as JSON.

use bytes::Bytes;
use petstore_http::Documents;

/// The contract, byte for byte.
pub(crate) const YAML: &str = include_str!("../../../openapi.yaml");

/// Derived from [`YAML`] by the build script.
const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The base path that the contract was written with.
pub(crate) const BASE_PATH: &str = "/v1";

/// The contract with another base path: the value of `servers` alone differs.
pub(crate) fn documents(base_path: &str) -> Documents {
    if base_path == BASE_PATH {
        return Documents {
            yaml: Bytes::from_static(YAML.as_bytes()),
            json: Bytes::from_static(JSON.as_bytes()),
        };
    }
    let url = if base_path.is_empty() { "/" } else { base_path };
    Documents {
        yaml: YAML.replacen("\n  - url: /v1\n", &format!("\n  - url: {url}\n"), 1).into(),
        json: JSON.replacen("[{\"url\":\"/v1\"", &format!("[{{\"url\":\"{url}\""), 1).into(),
    }
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
}
