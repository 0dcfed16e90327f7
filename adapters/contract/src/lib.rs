//! The contract of the petstore: its OpenAPI document, in both formats and in three versions, its compact form, and its
//! operations as tools, as constants.
//!
//! ```
//! assert!(petstore_contract::YAML.contains("openapi: 3.0.3"));
//! assert!(petstore_contract::JSON_31.starts_with(r#"{"openapi":"3.1"#));
//! ```

/// The contract as it was written, in OpenAPI 3.0.3.
pub const YAML: &str = include_str!("../openapi.yaml");

/// The contract as JSON.
pub const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The contract in OpenAPI 3.1 as YAML.
pub const YAML_31: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.1.yaml"));

/// The contract in OpenAPI 3.1 as JSON.
pub const JSON_31: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.1.json"));

/// The contract in OpenAPI 3.2 as YAML.
pub const YAML_32: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.2.yaml"));

/// The contract in OpenAPI 3.2 as JSON.
pub const JSON_32: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-3.2.json"));

/// The compact form of the contract as JSON, in OpenAPI 3.0.3: requests, and the shapes of successes, without references.
pub const COMPACT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi-compact.json"));

/// The operations as tools of the Model Context Protocol, as a JSON array: what a list of tools has of each, with the method
/// and the path of its operation and the place of each argument.
pub const TOOLS: &str = include_str!(concat!(env!("OUT_DIR"), "/tools.json"));

#[cfg(test)]
#[path = "../build/compact.rs"]
mod compact;

#[cfg(test)]
#[path = "../build/openapi_31.rs"]
mod openapi_31;

#[cfg(test)]
mod tests;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
