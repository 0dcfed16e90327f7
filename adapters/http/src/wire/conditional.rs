//! The conditional headers (RFC 9110, section 13.1).

use hyper::HeaderMap;
use hyper::header::{GetAll, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use petstore_domain::{Precondition, Version};

use super::entity_tag::{EntityTag, WEAK};
use super::hex;
use crate::wire::error::{ApiError, Code};

/// Returns the precondition of `If-Match`, if the header is present. Tags of another epoch, malformed tags and weak
/// tags match no version.
pub(crate) fn if_match(headers: &HeaderMap, epoch: u64) -> Result<Option<Precondition>, ApiError> {
    let Some(tags) = tags(headers, &IF_MATCH)? else { return Ok(None) };
    Ok(Some(match tags {
        Tags::Any => Precondition::Exists,
        Tags::Listed(tags) => {
            Precondition::AnyOf(tags.into_iter().filter_map(|tag| version(tag, epoch)).collect())
        }
    }))
}

/// Returns the precondition of `If-None-Match` on a change (RFC 9110, section 13.1.2), combined with that of
/// `If-Match`. `*` excludes every existing resource.
pub(crate) fn unless_known(
    headers: &HeaderMap,
    epoch: u64,
    stated: Precondition,
) -> Result<Precondition, ApiError> {
    let known: Vec<_> = match tags(headers, &IF_NONE_MATCH)? {
        None => return Ok(stated),
        Some(_) if stated == Precondition::Required => return Ok(stated),
        Some(Tags::Any) => return Ok(Precondition::Absent),
        // `If-None-Match` uses the weak comparison.
        Some(Tags::Listed(tags)) => {
            tags.into_iter().filter_map(|tag| version(Tag { weak: false, ..tag }, epoch)).collect()
        }
    };
    Ok(match stated {
        Precondition::None | Precondition::Exists => Precondition::NoneOf(known),
        Precondition::AnyOf(mut versions) => {
            versions.retain(|version| !known.contains(version));
            Precondition::AnyOf(versions)
        }
        Precondition::NoneOf(_) | Precondition::Absent | Precondition::Required => stated,
    })
}

/// Parses `If-None-Match`; without the header no tag matches.
pub(crate) fn if_none_match(headers: &HeaderMap) -> Result<IfNoneMatch<'_>, ApiError> {
    tags(headers, &IF_NONE_MATCH).map(IfNoneMatch)
}

/// The entity tags of `If-None-Match`.
#[derive(Debug)]
pub(crate) struct IfNoneMatch<'h>(Option<Tags<'h>>);

impl IfNoneMatch<'_> {
    /// The value for a request without the header.
    pub(crate) const NOTHING: Self = Self(None);

    /// Returns whether the client has this representation, so that the response is 304. Weak and strong tags are
    /// compared alike (the weak comparison).
    #[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
    #[inline(always)]
    pub(crate) fn matches(&self, current: &EntityTag) -> bool {
        match &self.0 {
            None => false,
            Some(Tags::Any) => true,
            Some(Tags::Listed(tags)) => tags.iter().any(|tag| tag.opaque == current.opaque()),
        }
    }
}

/// The content of a conditional header.
#[derive(Debug, PartialEq, Eq)]
enum Tags<'h> {
    /// `*`.
    Any,
    Listed(Vec<Tag<'h>>),
}

/// An entity tag that a client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag<'h> {
    weak: bool,
    /// The tag with its quotes.
    opaque: &'h [u8],
}

fn version(tag: Tag<'_>, epoch: u64) -> Option<Version> {
    let [b'"', inner @ .., b'"'] = tag.opaque else { return None };
    let hyphen = inner.iter().position(|byte| *byte == b'-')?;
    let ours = !tag.weak && hex::parse_short(&inner[..hyphen])? == epoch;
    let version = hex::parse_short(&inner[hyphen + 1..]).and_then(Version::new)?;
    ours.then_some(version)
}

/// Parses a header that may occur several times; its values form one list.
fn tags<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<Tags<'h>>, ApiError> {
    let values = headers.get_all(name);
    if values.iter().next().is_none() {
        return Ok(None);
    }
    let malformed = || {
        let title = if *name == IF_MATCH { "If-Match" } else { "If-None-Match" };
        ApiError::new(Code::InvalidHeader, format!("{title} must be a list of entity tags or an asterisk."))
    };
    parse(&values).map(Some).ok_or_else(malformed)
}

fn parse<'h>(values: &GetAll<'h, HeaderValue>) -> Option<Tags<'h>> {
    let mut lines = values.iter().map(HeaderValue::as_bytes);
    if let (Some(only), None) = (lines.next(), lines.next())
        && only.trim_ascii() == b"*"
    {
        return Some(Tags::Any);
    }
    let mut tags = Vec::new();
    let mut lines = values.iter().map(HeaderValue::as_bytes);
    lines.try_for_each(|line| parse_list(line, &mut tags))?;
    // A list of commas only is malformed.
    if tags.is_empty() { None } else { Some(Tags::Listed(tags)) }
}

/// Parses a list of tags. Like every list in HTTP, it may have empty elements (RFC 9110, section 5.6.1.2).
fn parse_list<'h>(list: &'h [u8], tags: &mut Vec<Tag<'h>>) -> Option<()> {
    let mut rest = list;
    loop {
        rest = skip(rest, b", \t");
        if rest.is_empty() {
            return Some(());
        }
        let (weak, quoted) = rest.strip_prefix(WEAK).map_or((false, rest), |quoted| (true, quoted));
        let end = quoted.strip_prefix(b"\"")?.iter().position(|byte| !is_tag_character(*byte))? + 1;
        if quoted[end] != b'"' {
            return None;
        }
        let (opaque, after) = quoted.split_at(end + 1);
        tags.push(Tag { weak, opaque });
        rest = skip(after, b" \t");
        if !matches!(rest, [] | [b',', ..]) {
            return None;
        }
    }
}

/// Returns whether a byte may be between the quotes. A comma may, so the list cannot be split at commas.
const fn is_tag_character(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7E | 0x80..)
}

fn skip<'h>(text: &'h [u8], characters: &[u8]) -> &'h [u8] {
    let start = text.iter().position(|byte| !characters.contains(byte)).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests;
