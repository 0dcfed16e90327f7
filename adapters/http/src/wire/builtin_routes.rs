//! The routes that the server has besides the API operations.

/// The path of the reference page.
pub(crate) const DOCS_PATH: &str = "/docs";

/// The path of the sandbox's console.
pub(crate) const CONSOLE_PATH: &str = "/sandbox";

/// The path at which a sandbox serves tools for models.
pub(crate) const MCP_PATH: &str = "/mcp";

/// A path outside the base path, or a family of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinRoute {
    Health,
    Ready,
    Metrics,
    OpenapiYaml,
    OpenapiJson,
    OpenapiYaml31,
    OpenapiJson31,
    OpenapiYaml32,
    OpenapiJson32,
    OpenapiCompact,
    Root,
    Docs,
    DocsFile,
    Console,
    ConsoleFile,
    SandboxTool,
    Mcp,
}

impl BuiltinRoute {
    /// All routes, in the order of their discriminants.
    pub(crate) const ALL: [Self; 17] = [
        Self::Health,
        Self::Ready,
        Self::Metrics,
        Self::OpenapiYaml,
        Self::OpenapiJson,
        Self::OpenapiYaml31,
        Self::OpenapiJson31,
        Self::OpenapiYaml32,
        Self::OpenapiJson32,
        Self::OpenapiCompact,
        Self::Root,
        Self::Docs,
        Self::DocsFile,
        Self::Console,
        Self::ConsoleFile,
        Self::SandboxTool,
        Self::Mcp,
    ];

    /// Returns the path; a part in braces stands for any suffix.
    pub(crate) const fn template(self) -> &'static str {
        match self {
            Self::Health => "/health",
            Self::Ready => "/ready",
            Self::Metrics => "/metrics",
            Self::OpenapiYaml => "/openapi.yaml",
            Self::OpenapiJson => "/openapi.json",
            Self::OpenapiYaml31 => "/openapi-3.1.yaml",
            Self::OpenapiJson31 => "/openapi-3.1.json",
            Self::OpenapiYaml32 => "/openapi-3.2.yaml",
            Self::OpenapiJson32 => "/openapi-3.2.json",
            Self::OpenapiCompact => "/openapi-compact.json",
            Self::Root => "/",
            Self::Docs => DOCS_PATH,
            Self::DocsFile => "/docs/{file}",
            Self::Console => CONSOLE_PATH,
            Self::ConsoleFile => "/sandbox/console/{file}",
            Self::SandboxTool => "/sandbox/{tool}",
            Self::Mcp => MCP_PATH,
        }
    }

    /// Returns the route of a path, whether or not this server serves it.
    pub(crate) fn find(path: &str) -> Option<Self> {
        // With an empty base path this function is called for every request, so it must be fast.
        Self::ALL.into_iter().find(|one| match one.family() {
            Some(family) => path.starts_with(family),
            None => path == one.template(),
        })
    }

    /// Returns the prefix of all paths of a family.
    const fn family(self) -> Option<&'static str> {
        match self {
            Self::DocsFile => Some("/docs/"),
            // Before the family of the tools, which contains this one.
            Self::ConsoleFile => Some("/sandbox/console/"),
            Self::SandboxTool => Some("/sandbox/"),
            _ => None,
        }
    }

    /// Returns whether monitoring uses the route.
    pub(crate) const fn is_probe(self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::Metrics)
    }

    /// Returns whether the listener for operators serves the route.
    pub(crate) const fn is_for_operators(self) -> bool {
        self.is_probe() || matches!(self, Self::Console | Self::ConsoleFile)
    }

    /// Returns whether a path belongs to the sandbox, whether or not this server serves it.
    pub(crate) fn is_of_sandbox(path: &str) -> bool {
        path == MCP_PATH
            || path.strip_prefix(CONSOLE_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn first_segment(self) -> &'static str {
        self.template().split('/').nth(1).unwrap_or_default()
    }
}

/// Returns whether paths with this first segment belong to the server itself. A base path that begins with such a
/// segment would hide them.
///
/// ```
/// assert!(petstore_http::is_reserved("health") && !petstore_http::is_reserved("v1"));
/// ```
pub fn is_reserved(segment: &str) -> bool {
    !segment.is_empty() && BuiltinRoute::ALL.into_iter().any(|one| one.first_segment() == segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_by_its_template() {
        for (path, template) in [
            ("/health", Some("/health")),
            ("/", Some("/")),
            ("/docs", Some("/docs")),
            ("/docs/", Some("/docs/{file}")),
            ("/docs/page.js", Some("/docs/{file}")),
            ("/sandbox/reset", Some("/sandbox/{tool}")),
            ("/sandbox", Some("/sandbox")),
            ("/sandbox/", Some("/sandbox/{tool}")),
            ("/sandbox/console/list.js", Some("/sandbox/console/{file}")),
            ("/sandbox/consoles", Some("/sandbox/{tool}")),
            ("/mcp", Some("/mcp")),
            ("/mcp/", None),
            ("/healthy", None),
            ("/health/", None),
            ("/docsx", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(BuiltinRoute::find(path).map(BuiltinRoute::template), template, "{path}");
        }
        for (place, one) in BuiltinRoute::ALL.into_iter().enumerate() {
            assert_eq!((one as usize, BuiltinRoute::find(one.template())), (place, Some(one)));
            let family = one.template().split_once('{').map(|(family, _)| family);
            assert_eq!(one.family(), family);
        }
    }

    #[test]
    fn a_base_path_must_not_begin_with_a_reserved_segment() {
        for segment in [
            "health",
            "ready",
            "metrics",
            "openapi.yaml",
            "openapi.json",
            "openapi-3.1.yaml",
            "openapi-3.1.json",
            "openapi-3.2.yaml",
            "openapi-3.2.json",
            "openapi-compact.json",
            "docs",
            "sandbox",
            "mcp",
        ] {
            assert!(is_reserved(segment), "{segment}");
        }
        for segment in ["", "v1", "doc", "{file}", "healthy"] {
            assert!(!is_reserved(segment), "{segment}");
        }
    }
}
