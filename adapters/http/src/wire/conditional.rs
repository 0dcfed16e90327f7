//! Entity tags and the conditional headers (RFC 9110, sections 8.8.3 and 13.1).
//!
//! A strong tag is `"epoch-version"`. Because of the epoch of the store, a tag from before a reset or a new start
//! differs from a later tag with the same version.

use std::num::NonZeroU8;

use hyper::HeaderMap;
use hyper::header::{GetAll, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use petstore_domain::{Precondition, Version};

use super::hex;
use crate::wire::error::{ApiError, Code};

/// The maximum bytes of a tag: quotes, two numbers and a hyphen.
const TAG_MAX: usize = 2 * hex::FULL_LEN + 3;

/// The prefix of a weak tag.
const WEAK: &[u8] = b"W/";

/// An entity tag of this server, as in the `ETag` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntityTag {
    bytes: [u8; TAG_MAX],
    /// The length of the tag plus one. The type has no zero, so that `Option<EntityTag>` is no larger than the tag.
    end: NonZeroU8,
}

impl EntityTag {
    const EMPTY: Self = Self { bytes: [0; TAG_MAX], end: NonZeroU8::MIN };

    /// The strong tag of a version of a resource.
    pub(crate) fn strong(epoch: u64, version: Version) -> Self {
        TagPrefix::new(epoch).tag(version)
    }

    /// The weak tag of a page with this checksum.
    pub(crate) fn weak(checksum: u64) -> Self {
        let mut tag = Self::EMPTY;
        tag.push(WEAK);
        tag.push(b"\"");
        tag.push(&hex::full(checksum));
        tag.push(b"\"");
        tag
    }

    /// The strong tag of a file with this checksum, with or without a content coding.
    pub(crate) fn of_file(checksum: u64, is_coded: bool) -> Self {
        let mut tag = Self::EMPTY;
        tag.push(b"\"");
        tag.push(&hex::full(checksum));
        tag.push(if is_coded { b"-gzip\"" } else { b"\"" });
        tag
    }

    /// The tag in visible ASCII.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Returns the quoted part. A weak comparison uses nothing else.
    fn opaque(&self) -> &[u8] {
        self.as_bytes().strip_prefix(WEAK).unwrap_or(self.as_bytes())
    }

    fn push(&mut self, part: &[u8]) {
        let before = self.len();
        self.bytes[before..][..part.len()].copy_from_slice(part);
        #[expect(clippy::cast_possible_truncation, reason = "it has been found to be within TAG_MAX")]
        let len = part.len() as u8;
        self.end = self.end.saturating_add(len);
    }

    fn len(&self) -> usize {
        usize::from(self.end.get()) - 1
    }
}

/// The common beginning of all strong tags of a store, formatted once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TagPrefix(EntityTag);

impl TagPrefix {
    /// The prefix for the store with this epoch.
    pub(crate) fn new(epoch: u64) -> Self {
        let mut prefix = EntityTag::EMPTY;
        prefix.push(b"\"");
        prefix.push(&hex::full(epoch)[hex::leading_zeros(epoch)..]);
        prefix.push(b"-");
        Self(prefix)
    }

    /// The strong tag of a version of a resource.
    pub(crate) fn tag(&self, version: Version) -> EntityTag {
        let mut tag = self.0;
        // Nearly every version has one digit.
        match u8::try_from(version.get()) {
            Ok(digit @ 0..=9) => tag.push(&[b'0' + digit]),
            _ => tag.push(&hex::full(version.get())[hex::leading_zeros(version.get())..]),
        }
        tag.push(b"\"");
        tag
    }
}

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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EPOCH: u64 = 0x1f;

    fn versions(numbers: &[u64]) -> Precondition {
        Precondition::AnyOf(numbers.iter().map(|number| Version::new(*number).unwrap()).collect())
    }

    fn headers(name: &HeaderName, values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn tags_have_the_form_of_the_specification() {
        assert_eq!(EntityTag::strong(EPOCH, Version::FIRST).as_bytes(), b"\"1f-1\"");
        assert_eq!(EntityTag::strong(0, Version::FIRST).as_bytes(), b"\"0-1\"");
        let longest = EntityTag::strong(u64::MAX, Version::new(u64::MAX).unwrap());
        assert_eq!(longest.as_bytes(), b"\"ffffffffffffffff-ffffffffffffffff\"");
        assert_eq!(EntityTag::weak(0xabc).as_bytes(), b"W/\"0000000000000abc\"");
    }

    #[test]
    fn if_match_selects_versions_of_this_epoch() {
        assert_eq!(if_match(&HeaderMap::new(), EPOCH), Ok(None));
        let cases: &[(&[&[u8]], Precondition)] = &[
            (&[b"*"], Precondition::Exists),
            (&[b" * "], Precondition::Exists),
            (&[b"\"1f-1\""], versions(&[1])),
            (&[b"\"1f-1\",\"1f-a\" ,\t\"1f-ffffffffffffffff\""], versions(&[1, 10, u64::MAX])),
            (&[b", ,\"1f-1\",,\"1f-2\", "], versions(&[1, 2])),
            (&[b"\"1f-1\"", b"\"1f-2\", \"1f-3\""], versions(&[1, 2, 3])),
            (&[b"\"1f-1\"", b""], versions(&[1])),
            // A weak tag, a tag of another epoch, and a malformed tag match no version.
            (&[b"W/\"1f-1\""], versions(&[])),
            (
                &[b"\"1e-1\", \"01f-1\", \"1F-1\", \"1f-0\", \"1f-01\", \"1f-\", \"-1\", \"1f1\", \"\""],
                versions(&[]),
            ),
            (&[b"\"1f-1-1\", \"1f-11111111111111111\", \"1f,1\", \"\\\", \"\xC3\xA9\""], versions(&[])),
            (&[b"\"*\""], versions(&[])),
        ];
        for (values, expected) in cases {
            assert_eq!(
                if_match(&headers(&IF_MATCH, values), EPOCH),
                Ok(Some(expected.clone())),
                "{values:?}"
            );
        }
    }

    #[test]
    fn if_match_and_if_none_match_of_a_change_are_combined() {
        let none_of = |versions| match versions {
            Precondition::AnyOf(versions) => Precondition::NoneOf(versions),
            other => other,
        };
        let cases = [
            (Precondition::None, &b"\"1f-1\", W/\"1f-2\", \"1e-3\""[..], none_of(versions(&[1, 2]))),
            (Precondition::Exists, b"\"1f-1\"", none_of(versions(&[1]))),
            (Precondition::Exists, b"\"other\"", none_of(versions(&[]))),
            (versions(&[1, 2]), b"\"1f-2\"", versions(&[1])),
            (Precondition::Required, b"\"1f-2\"", Precondition::Required),
            (Precondition::None, b"*", Precondition::Absent),
            (versions(&[1]), b"*", Precondition::Absent),
            (Precondition::Required, b"*", Precondition::Required),
        ];
        for (stated, value, expected) in cases {
            let headers = headers(&IF_NONE_MATCH, &[value]);
            assert_eq!(unless_known(&headers, EPOCH, stated.clone()), Ok(expected), "{stated:?} {value:?}");
        }
        assert_eq!(unless_known(&HeaderMap::new(), EPOCH, versions(&[1])), Ok(versions(&[1])));
        assert!(unless_known(&headers(&IF_NONE_MATCH, &[b"1f-1"]), EPOCH, Precondition::None).is_err());
    }

    #[test]
    fn a_malformed_list_of_tags_is_refused() {
        let cases: &[&[&[u8]]] = &[
            &[b""],
            &[b","],
            &[b"1f-1"],
            &[b"\"1f-1"],
            &[b"1f-1\""],
            &[b"\""],
            &[b"w/\"1f-1\""],
            &[b"W/ \"1f-1\""],
            &[b"W/"],
            &[b"W/*"],
            &[b"\"a b\""],
            &[b"\"a\tb\""],
            &[b"\"a\" \"b\""],
            &[b"\"a\"\"b\""],
            &[b"\"a\";\"b\""],
            &[b"*, \"a\""],
            &[b"\"a\", *"],
            &[b"**"],
            &[b"*", b"*"],
            &[b"*", b"\"a\""],
            &[b"*", b""],
            &[b"\"a", b"b\""],
        ];
        for values in cases {
            let error = if_match(&headers(&IF_MATCH, values), EPOCH).unwrap_err();
            assert_eq!(error.message, "If-Match must be a list of entity tags or an asterisk.", "{values:?}");
            let error = if_none_match(&headers(&IF_NONE_MATCH, values)).unwrap_err();
            assert_eq!(error.code, Code::InvalidHeader);
            assert_eq!(error.message, "If-None-Match must be a list of entity tags or an asterisk.");
        }
    }

    #[test]
    fn if_none_match_compares_weakly() {
        let resource = EntityTag::strong(EPOCH, Version::FIRST);
        let list = EntityTag::weak(0xabc);
        assert!(!if_none_match(&HeaderMap::new()).unwrap().matches(&resource));
        let cases: &[(&[&[u8]], bool, bool)] = &[
            (&[b"*"], true, true),
            (&[b"\"1f-1\""], true, false),
            (&[b"W/\"1f-1\""], true, false),
            (&[b"\"x\", \"1f-1\""], true, false),
            (&[b"\"x\"", b"W/\"0000000000000abc\""], false, true),
            (&[b"\"0000000000000abc\""], false, true),
            (&[b"\"1f-2\", \"1f-11\", \"1e-1\", \"\""], false, false),
        ];
        for (values, matches_resource, matches_list) in cases {
            let headers = headers(&IF_NONE_MATCH, values);
            let condition = if_none_match(&headers).unwrap();
            assert_eq!(condition.matches(&resource), *matches_resource, "{values:?}");
            assert_eq!(condition.matches(&list), *matches_list, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn a_tag_matches_its_own_version_alone(epoch: u64, other: u64, number in 1..=u64::MAX) {
            let version = Version::new(number).unwrap();
            let tag = EntityTag::strong(epoch, version);
            let headers = headers(&IF_MATCH, &[tag.as_bytes()]);
            prop_assert_eq!(if_match(&headers, epoch), Ok(Some(Precondition::AnyOf(vec![version]))));
            let expected = if other == epoch { vec![version] } else { vec![] };
            prop_assert_eq!(if_match(&headers, other), Ok(Some(Precondition::AnyOf(expected))));
        }

        #[test]
        fn no_value_makes_it_panic(value in proptest::collection::vec(
            proptest::sample::select(b"W/\"*, \t1f-a\x80~".to_vec()), 0..20,
        )) {
            let headers = headers(&IF_MATCH, &[&value]);
            let _either = if_match(&headers, EPOCH);
        }
    }
}
