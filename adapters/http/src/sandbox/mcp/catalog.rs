//! The tools: what a list of them shows, and the operation that each one is.

use hyper::Method;

use super::raw::Raw;
use crate::wire::json;

/// The tools, in the order of the contract.
pub(crate) struct Catalog(Vec<Tool>);

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: String,
    tags: Vec<String>,
    pub(crate) method: Method,
    /// The path template of the operation.
    pub(crate) path: String,
    /// The arguments, each with its place in the request.
    pub(crate) arguments: Vec<(String, Place)>,
    /// The type of the body; `None` for an operation without one.
    pub(crate) content_type: Option<String>,
    /// Its element of a list of tools, as JSON.
    shown: String,
}

/// The place of an argument in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Body,
    IfMatch,
    IdempotencyKey,
}

impl Catalog {
    /// Reads the document of the tools; `None` if it is empty or not in its form.
    pub(crate) fn read(document: &[u8]) -> Option<Self> {
        json::parse(document).ok()?;
        let tools = Raw::of_valid(str::from_utf8(document).ok()?).elements()?;
        tools.into_iter().map(Tool::read).collect::<Option<_>>().map(Self)
    }

    /// Returns the tools with one of these tags; all if none is given. An unknown tag is an error, with the known ones.
    pub(crate) fn with_tags(&self, tags: Option<&str>) -> Result<Vec<&Tool>, Vec<&str>> {
        let Some(tags) = tags else { return Ok(self.0.iter().collect()) };
        let wanted: Vec<_> = tags.split(',').collect();
        let is_wanted = |tool: &&Tool| tool.tags.iter().any(|tag| wanted.contains(&tag.as_str()));
        let mut known: Vec<&str> = self.0.iter().flat_map(|tool| &tool.tags).map(String::as_str).collect();
        known.dedup();
        if wanted.iter().any(|tag| !known.contains(tag)) {
            return Err(known);
        }
        Ok(self.0.iter().filter(is_wanted).collect())
    }
}

impl Tool {
    fn read(tool: Raw<'_>) -> Option<Self> {
        let text = |name: &str| tool.get(name).and_then(Raw::text).map(std::borrow::Cow::into_owned);
        let tags = tool.get("tags")?.elements()?.into_iter();
        let arguments = tool.get("arguments")?.members().into_iter();
        Some(Self {
            name: text("name")?,
            tags: tags.map(|tag| tag.text().map(std::borrow::Cow::into_owned)).collect::<Option<_>>()?,
            method: text("method")?.parse().ok()?,
            path: text("path")?,
            arguments: arguments
                .map(|(name, place)| Some((name.into_owned(), Place::read(&place.text()?)?)))
                .collect::<Option<_>>()?,
            content_type: text("contentType"),
            shown: tool.get("tool")?.as_str().to_owned(),
        })
    }

    /// Returns the place of an argument; `None` for one that the tool does not take.
    pub(crate) fn place(&self, argument: &str) -> Option<Place> {
        self.arguments.iter().find(|(name, _)| name == argument).map(|(_, place)| *place)
    }
}

impl Place {
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "path" => Self::Path,
            "query" => Self::Query,
            "body" => Self::Body,
            "if-match" => Self::IfMatch,
            "idempotency-key" => Self::IdempotencyKey,
            _ => return None,
        })
    }
}

/// Returns the members of the result of `tools/list`.
pub(crate) fn listed(tools: &[&Tool]) -> String {
    let shown: Vec<_> = tools.iter().map(|tool| tool.shown.as_str()).collect();
    format!("\"tools\":[{}]", shown.join(","))
}

/// A small catalog, for tests.
#[cfg(test)]
pub(crate) const EXAMPLE: &str = r#"[
    {"name":"listPets","tags":["animals"],"method":"GET","path":"/pets","contentType":null,
     "arguments":{"limit":"query","status":"query"},"tool":{"name":"listPets"}},
    {"name":"updateOrder","tags":["orders"],"method":"PATCH","path":"/store/orders/{orderId}",
     "contentType":"application/merge-patch+json",
     "arguments":{"orderId":"path","ifMatch":"if-match","complete":"body","shipDate":"body"},"tool":{"name":"updateOrder"}},
    {"name":"placeOrder","tags":["orders"],"method":"POST","path":"/store/orders","contentType":"application/json",
     "arguments":{"idempotencyKey":"idempotency-key","petId":"body"},"tool":{"name":"placeOrder"}},
    {"name":"listEvents","tags":["events"],"method":"GET","path":"/events","contentType":null,
     "arguments":{"wait":"query"},"tool":{"name":"listEvents"}}
]"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tags: Option<&str>) -> Result<Vec<String>, Vec<String>> {
        let catalog = Catalog::read(EXAMPLE.as_bytes()).unwrap();
        let found = catalog.with_tags(tags);
        found
            .map(|tools| tools.iter().map(|tool| tool.name.clone()).collect())
            .map_err(|known| known.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn tags_narrow_the_tools_and_keep_their_order() {
        assert_eq!(names(None).unwrap(), ["listPets", "updateOrder", "placeOrder", "listEvents"]);
        assert_eq!(names(Some("events,animals")).unwrap(), ["listPets", "listEvents"]);
        for unknown in ["", "pets", "animals,", "animals,pets"] {
            assert_eq!(names(Some(unknown)).unwrap_err(), ["animals", "orders", "events"], "{unknown}");
        }
    }

    #[test]
    fn a_document_of_another_form_is_no_catalog() {
        for document in ["", "{}", "[1]", "[{\"name\":\"a\"}]", &EXAMPLE.replace("\"path\",", "\"cookie\",")]
        {
            assert!(Catalog::read(document.as_bytes()).is_none(), "{document}");
        }
        assert!(Catalog::read(b"[]").is_some());
    }

    #[test]
    fn a_list_shows_the_tools_as_they_were_made() {
        let catalog = Catalog::read(EXAMPLE.as_bytes()).unwrap();
        let tools = catalog.with_tags(Some("animals")).unwrap();
        assert_eq!(listed(&tools), r#""tools":[{"name":"listPets"}]"#);
        assert_eq!(tools[0].place("limit"), Some(Place::Query));
        assert_eq!(tools[0].place("limits"), None);
    }
}
