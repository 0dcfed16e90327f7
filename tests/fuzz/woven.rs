//! Random bytes converted into sequences of known words, for the fuzz targets of every crate.
//!
//! A parser refuses nearly all random inputs at the first byte. If each byte selects a word that the parser knows, the
//! input gets further, both with random bytes under `cargo test` and with a fuzzer that follows coverage.

/// Checks an input as raw bytes, and as words.
pub(crate) fn both(input: &[u8], words: &[&str], check: impl Fn(&[u8])) {
    check(input);
    check(&woven(input, words));
}

/// Replaces each byte by the word that it selects.
fn woven(input: &[u8], words: &[&str]) -> Vec<u8> {
    input.iter().flat_map(|byte| words[usize::from(*byte) % words.len()].bytes()).collect()
}
