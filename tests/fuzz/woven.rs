//! Random bytes as random sentences, for the fuzz targets of every crate.
//!
//! Nearly all random bytes are refused at their first one. The same bytes read as numbers of words that a parser knows
//! get past that, whoever made them: a random generator under `cargo test`, or a fuzzer that looks at what they reach.

/// Tries an input as it is, and as words.
pub(crate) fn both(input: &[u8], words: &[&str], check: impl Fn(&[u8])) {
    check(input);
    check(&woven(input, words));
}

/// For each byte a word.
fn woven(input: &[u8], words: &[&str]) -> Vec<u8> {
    input.iter().flat_map(|byte| words[usize::from(*byte) % words.len()].bytes()).collect()
}
