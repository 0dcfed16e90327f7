//! Counts with their nouns.

/// Returns a count with its noun, singular or plural: `1 pet`, `2 pets`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "pet")), ["0 pets", "1 pet", "2 pets"]);
    }
}
