//! The documents that a client can read: the compact form of the contract, and a page about the sandbox.

use super::raw::quoted;

/// The page about the sandbox.
const GUIDE: &str = include_str!("guide.md");

/// The addresses of the documents.
const CONTRACT_URI: &str = "petstore://openapi-compact.json";
const GUIDE_URI: &str = "petstore://sandbox.md";

/// The members of the result of `resources/list`.
pub(crate) const LISTED: &str = "\"resources\":[\
    {\"uri\":\"petstore://openapi-compact.json\",\"name\":\"contract\",\"title\":\"The contract\",\
     \"description\":\"The OpenAPI document in its compact form.\",\"mimeType\":\"application/json\"},\
    {\"uri\":\"petstore://sandbox.md\",\"name\":\"sandbox\",\"title\":\"The sandbox\",\
     \"description\":\"How this server is used to test an agent: failures, the clock, the journal and the report.\",\
     \"mimeType\":\"text/markdown\"}]";

/// Returns the members of the result of `resources/read`; `None` if no document has this address.
pub(crate) fn read(uri: &str, compact: &[u8]) -> Option<String> {
    let (kind, text) = match uri {
        CONTRACT_URI => ("application/json", str::from_utf8(compact).ok()?),
        GUIDE_URI => ("text/markdown", GUIDE),
        _ => return None,
    };
    let text = quoted(text);
    Some(format!("\"contents\":[{{\"uri\":\"{uri}\",\"mimeType\":\"{kind}\",\"text\":{text}}}]"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_listed_document_can_be_read() {
        let list: Value = serde_json::from_str(&format!("{{{LISTED}}}")).unwrap();
        for resource in list["resources"].as_array().unwrap() {
            let uri = resource["uri"].as_str().unwrap();
            let read: Value = serde_json::from_str(&format!("{{{}}}", read(uri, b"{}").unwrap())).unwrap();
            let content = &read["contents"][0];
            assert_eq!((&content["uri"], &content["mimeType"]), (&resource["uri"], &resource["mimeType"]));
            assert!(!content["text"].as_str().unwrap().is_empty());
        }
        assert_eq!(list["resources"].as_array().unwrap().len(), 2);
        assert_eq!(read("petstore://other", b""), None);
    }
}
