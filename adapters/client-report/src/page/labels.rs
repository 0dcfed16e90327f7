//! The labels of verdicts and of clients.

use std::fmt::{self, Display, Formatter};

use super::content::{PageClient, PagePart};
use super::markup::text;
use crate::report::RuleVerdict;

/// The label of a program that failed.
pub(super) const FAILED: &str =
    "<span class=\"tag broken\"><span aria-hidden=\"true\">✗</span> failed</span>";

/// A verdict as a sign and a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag(pub(super) RuleVerdict);

impl Display for Tag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = self.0.as_str();
        let sign = match self.0 {
            RuleVerdict::Broken => "✗",
            RuleVerdict::Hint => "!",
            RuleVerdict::Kept => "✓",
            RuleVerdict::Untested => "–",
        };
        write!(f, "<span class=\"tag {word}\"><span aria-hidden=\"true\">{sign}</span> {word}</span>")
    }
}

/// The verdict about a part: that of its report, unless the program failed.
pub(super) struct PartTag<'t>(pub(super) &'t PagePart<'t>);

impl Display for PartTag<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.has_failed {
            f.write_str(FAILED)?;
            if self.0.verdict() < RuleVerdict::Broken {
                return Ok(());
            }
            f.write_str(" ")?;
        }
        Tag(self.0.verdict()).fmt(f)
    }
}

/// Returns the name of a client.
pub(super) fn client_name(client: &PageClient<'_>) -> String {
    client.key.map_or_else(|| "Without a valid key".to_owned(), |key| format!("Key {}...", text(key)))
}
