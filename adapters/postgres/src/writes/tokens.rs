//! Tokens of commits.

/// Draws tokens that no other handle draws.
#[derive(Debug)]
pub(super) struct Tokens {
    /// A random number of the handle.
    handle: u64,
    last: u64,
}

impl Tokens {
    /// The tokens of a handle that drew this random number.
    pub(super) fn new(handle: u64) -> Self {
        Self { handle, last: 0 }
    }

    /// The token of the next commit.
    pub(super) fn next(&mut self) -> [u8; 16] {
        self.last += 1;
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.handle.to_be_bytes());
        token[8..].copy_from_slice(&self.last.to_be_bytes());
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_one_handle_and_of_two_handles_differ() {
        let (mut one, mut other) = (Tokens::new(1), Tokens::new(2));
        let tokens = [one.next(), one.next(), other.next(), other.next()];
        for (place, token) in tokens.iter().enumerate() {
            assert!(!tokens[..place].contains(token));
        }
    }
}
