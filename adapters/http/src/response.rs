//! Responses before they are serialized.

pub(crate) mod answer;
pub(crate) mod arena;
pub(crate) mod body;
pub(crate) mod deprecation;
pub(crate) mod gzip;
pub(crate) mod header_templates;
pub(crate) mod quota_headers;
mod quota_lines;
pub(crate) mod value_sink;
