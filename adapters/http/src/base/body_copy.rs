//! The first bytes of a body, and its length.

/// A copy of the first bytes of a body that arrives or is sent in parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyCopy {
    max: usize,
    first: Vec<u8>,
    bytes: u64,
}

impl BodyCopy {
    /// Returns an empty copy, for at most `max` bytes.
    pub(crate) const fn up_to(max: usize) -> Self {
        Self { max, first: Vec::new(), bytes: 0 }
    }

    /// Adds the next part of the body.
    pub(crate) fn add(&mut self, part: &[u8]) {
        let room = self.max - self.first.len();
        self.first.extend_from_slice(&part[..part.len().min(room)]);
        self.bytes += part.len() as u64;
    }

    /// Returns the copy, and leaves one that takes no bytes.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Returns the first bytes.
    pub(crate) fn into_first(self) -> Vec<u8> {
        self.first
    }

    /// Returns the length of the body so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_are_kept_and_all_are_counted() {
        let mut copy = BodyCopy::up_to(4);
        for part in [&b"ab"[..], b"", b"cde", b"f"] {
            copy.add(part);
        }
        let taken = copy.take();
        assert_eq!((taken.bytes(), taken.into_first()), (6, b"abcd".to_vec()));
        copy.add(b"late");
        assert_eq!((copy.bytes(), copy.into_first()), (4, Vec::new()));
    }
}
