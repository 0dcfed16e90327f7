//! Telling what was put right in the data of an older version, or in an import.

use petstore_domain::Renamed;
use petstore_sqlite::Mended;

/// Renamed categories that are told one by one.
const TOLD_MAX: usize = 20;

/// A line for each kind of thing that was put right in a data file; none if nothing was.
pub(crate) fn lines(mended: &Mended) -> Vec<String> {
    let kinds = [
        (mended.dates, "dates before 0001-01-01T00:00:00Z", "set to that instant"),
        (mended.pets, "pets without a visible character in their name", "renamed to `pet ID`"),
        (
            mended.categories,
            "categories without a visible character in their name",
            "renamed to `category ID`",
        ),
        (mended.accounts, "accounts without a visible character in their name", "renamed to `account-ID`"),
        (mended.answers, "answers kept for retries with such a date or name", "changed alike"),
    ];
    let counted = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let mut lines: Vec<_> = counted
        .map(|(count, what, how)| {
            format!("an older version had stored what is not taken any more: {what}, {how}: {count}")
        })
        .collect();
    lines.extend(renamed(&mended.renamed));
    lines
}

/// A line for each category that was renamed, up to a bound.
pub(crate) fn renamed(renamed: &[Renamed]) -> Vec<String> {
    let told = renamed.iter().take(TOLD_MAX).map(|Renamed { id, of, from, to }| {
        // Escaped: names that read the same look the same, and nothing of a name reaches a terminal as it is.
        format!(
            "category {id} has the name of category {of}, {:?}, and is {:?} now",
            from.as_str(),
            to.as_str()
        )
    });
    let mut lines: Vec<_> = told.collect();
    if renamed.len() > TOLD_MAX {
        lines.push(format!("{} more categories were renamed alike", renamed.len() - TOLD_MAX));
    }
    lines
}
