//! The places of a text at which a secret may begin.

use std::sync::LazyLock;

use memchr::memmem::{FindIter, Finder};
use memchr::{Memchr, memchr, memchr_iter};

use super::{KEY_START, MEMBER, SECRET_START};

/// The character in front of the host of a URL.
static AUTHORITY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("://"));

/// The places, in their order, of a text in which no character is escaped. Each kind of secret is found by its rarest
/// character, and the text is read once for each kind.
pub(super) struct Beginnings<'t> {
    text: &'t [u8],
    underscores: Memchr<'t>,
    members: FindIter<'t, 'static>,
    authorities: Option<FindIter<'t, 'static>>,
    /// The next place of each kind.
    next: [Option<usize>; 3],
}

impl<'t> Beginnings<'t> {
    /// The places of a text. Without `has_urls` the text has no URL.
    pub(super) fn of(text: &'t [u8], has_urls: bool) -> Self {
        // User information ends with an at sign.
        let may_have_users = has_urls && memchr(b'@', text).is_some();
        let mut places = Self {
            text,
            underscores: memchr_iter(b'_', text),
            members: MEMBER.find_iter(text),
            authorities: may_have_users.then(|| AUTHORITY.find_iter(text)),
            next: [None; 3],
        };
        places.next = [0, 1, 2].map(|kind| places.of_kind(kind));
        places
    }

    fn of_kind(&mut self, kind: usize) -> Option<usize> {
        match kind {
            0 => self.key(),
            1 => self.members.next(),
            _ => self.authorities.as_mut()?.next(),
        }
    }

    /// Returns the next beginning of a key or of the secret of a webhook.
    fn key(&mut self) -> Option<usize> {
        let text = self.text;
        self.underscores.find_map(|place| {
            let before = &text[..=place];
            let start = [KEY_START, SECRET_START].into_iter().find(|start| before.ends_with(start))?;
            Some(before.len() - start.len())
        })
    }
}

impl Iterator for Beginnings<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let kinds = self.next.into_iter().enumerate();
        let (place, kind) = kinds.filter_map(|(kind, place)| Some((place?, kind))).min()?;
        self.next[kind] = self.of_kind(kind);
        Some(place)
    }
}
