//! Messages about values that a migration or an import has corrected.

use std::fmt::Display;

use petstore_domain::{Renamed, UniqueName};
use petstore_sqlite::RepairedValues;

/// The number of renamed records that are listed one by one.
const LISTED_MAX: usize = 20;

/// Returns a line for each kind of value that was corrected in a data file.
pub(crate) fn lines(mended: &RepairedValues) -> Vec<String> {
    let kinds = [
        (mended.dates, "dates before 0001-01-01T00:00:00Z", "set to that instant"),
        (mended.pets, "pets without a visible character in their name", "renamed to `pet ID`"),
        (
            mended.categories,
            "categories without a visible character in their name",
            "renamed to `category ID`",
        ),
        (mended.accounts, "accounts without a visible character in their name", "renamed to `account-ID`"),
        (mended.labels, "keys with a label without a visible character", "set to an empty label"),
        (mended.answers, "stored idempotent answers with such a date or name", "corrected in the same way"),
    ];
    let counted = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let mut lines: Vec<_> =
        counted.map(|(count, what, how)| format!("migration: {count} {what}, {how}")).collect();
    lines.extend(renamed_categories(&mended.renamed));
    lines.extend(renamed("account", "accounts", &mended.renamed_accounts));
    lines
}

/// Returns a line for each renamed category, up to a bound.
pub(crate) fn renamed_categories(list: &[Renamed]) -> Vec<String> {
    renamed("category", "categories", list)
}

fn renamed<Id: Display, Name: UniqueName>(
    kind: &str,
    plural: &str,
    renamed: &[Renamed<Id, Name>],
) -> Vec<String> {
    let told = renamed.iter().take(LISTED_MAX).map(|Renamed { id, of, from, to }| {
        // The names are escaped, because equal names may look alike and a name may contain control characters.
        format!(
            "{kind} {id} has the name of {kind} {of}, {:?}, and was renamed to {:?}",
            from.as_str(),
            to.as_str()
        )
    });
    let mut lines: Vec<_> = told.collect();
    if renamed.len() > LISTED_MAX {
        lines.push(format!("{} more {plural} were renamed in the same way", renamed.len() - LISTED_MAX));
    }
    lines
}
