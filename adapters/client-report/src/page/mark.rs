//! The marks of requests: a shape and a letter for each kind of answer, so that a page without colours tells them apart.

use std::fmt::{self, Display, Formatter};

use super::content::PageAnswer;

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Success,
    Redirection,
    ClientError,
    Limited,
    ServerError,
    Lost,
    Left,
    Open,
}

impl Mark {
    pub(super) const ALL: [Self; 8] = [
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::Limited,
        Self::ServerError,
        Self::Lost,
        Self::Left,
        Self::Open,
    ];

    pub(super) const fn of(answer: PageAnswer<'_>) -> Self {
        match answer {
            PageAnswer::Sent { status: 429, .. } => Self::Limited,
            PageAnswer::Sent { status: 500.., .. } => Self::ServerError,
            PageAnswer::Sent { status: 400.., .. } => Self::ClientError,
            PageAnswer::Sent { status: 300.., .. } => Self::Redirection,
            PageAnswer::Sent { .. } => Self::Success,
            PageAnswer::Left => Self::Left,
            PageAnswer::Lost { .. } => Self::Lost,
            PageAnswer::Open => Self::Open,
        }
    }

    pub(super) const fn letter(self) -> char {
        match self {
            Self::Success => '2',
            Self::Redirection => '3',
            Self::ClientError => '4',
            Self::Limited => 'L',
            Self::ServerError => '5',
            Self::Lost => 'X',
            Self::Left => 'G',
            Self::Open => 'O',
        }
    }

    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Redirection => "304 or a redirection",
            Self::ClientError => "an error of 400 to 499",
            Self::Limited => "429: over a limit",
            Self::ServerError => "an error of 500 to 599",
            Self::Lost => "no answer reached the client",
            Self::Left => "the client ended its wait",
            Self::Open => "not answered yet",
        }
    }

    /// The colour of the mark, as a class of the style.
    const fn class(self) -> &'static str {
        match self {
            Self::Success => "good",
            Self::Redirection | Self::Left | Self::Open => "calm",
            Self::ClientError | Self::Limited => "warn",
            Self::ServerError | Self::Lost => "bad",
        }
    }

    /// The outline, around the point 0,0.
    const fn outline(self) -> &'static str {
        match self {
            Self::Success => "<circle r=\"9\"/>",
            Self::Redirection => "<rect x=\"-10\" y=\"-7\" width=\"20\" height=\"14\" rx=\"7\"/>",
            Self::ClientError => "<path d=\"M0-12 12 0 0 12-12 0z\"/>",
            Self::Limited => "<path d=\"M-4-10H4L10-4V4L4 10H-4L-10 4V-4z\"/>",
            Self::ServerError => "<rect x=\"-9\" y=\"-9\" width=\"18\" height=\"18\"/>",
            Self::Lost => "<circle r=\"9\" stroke-dasharray=\"4 3\"/>",
            Self::Left => "<path d=\"M-9-8H5L10 0 5 8H-9z\"/>",
            Self::Open => "<circle r=\"9\" stroke-dasharray=\"1 3\"/>",
        }
    }
}

/// The shapes of a page, once. Pictures refer to them.
pub(super) struct Shapes;

impl Display for Shapes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<svg class=\"shapes\" width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\"><defs>\n")?;
        for mark in Mark::ALL {
            let (letter, class, outline) = (mark.letter(), mark.class(), mark.outline());
            writeln!(
                f,
                "<g id=\"m{letter}\" class=\"mark {class}\"><circle class=\"ring\" r=\"14\"/>{outline}<text y=\"4\">{letter}</text></g>"
            )?;
        }
        f.write_str(
            "<g id=\"breach\" class=\"flag\"><path d=\"M0-8 8 6H-8z\"/><text y=\"4\">!</text></g>\n\
             <g id=\"hint\" class=\"flag hint\"><circle r=\"6.5\"/><text y=\"4\">i</text></g>\n\
             <pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
             <path class=\"hatch\" d=\"M0 0V6\"/></pattern>\n</defs></svg>\n",
        )
    }
}
