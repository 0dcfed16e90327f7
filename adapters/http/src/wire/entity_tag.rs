//! Entity tags (RFC 9110, section 8.8.3).
//!
//! A strong tag is `"epoch-version"`. A reset changes the epoch of the store, and so does a new start without durable
//! data. So an earlier tag differs from a later tag with the same version.

use std::num::NonZeroU8;

use petstore_domain::Version;

use super::hex;

/// The maximum bytes of a tag: quotes, two numbers and a hyphen.
const TAG_MAX: usize = 2 * hex::FULL_LEN + 3;

/// The prefix of a weak tag.
pub(super) const WEAK: &[u8] = b"W/";

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
    pub(super) fn opaque(&self) -> &[u8] {
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
        // Nearly every version has one digit, so a shorter path handles these.
        match u8::try_from(version.get()) {
            Ok(digit @ 0..=9) => tag.push(&[b'0' + digit]),
            _ => tag.push(&hex::full(version.get())[hex::leading_zeros(version.get())..]),
        }
        tag.push(b"\"");
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: u64 = 0x1f;

    #[test]
    fn tags_have_the_form_of_the_specification() {
        assert_eq!(EntityTag::strong(EPOCH, Version::FIRST).as_bytes(), b"\"1f-1\"");
        assert_eq!(EntityTag::strong(0, Version::FIRST).as_bytes(), b"\"0-1\"");
        let longest = EntityTag::strong(u64::MAX, Version::new(u64::MAX).unwrap());
        assert_eq!(longest.as_bytes(), b"\"ffffffffffffffff-ffffffffffffffff\"");
        assert_eq!(EntityTag::weak(0xabc).as_bytes(), b"W/\"0000000000000abc\"");
    }
}
