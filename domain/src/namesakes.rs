//! Collisions of names that are equal after folding but must be unique: in data that older versions stored, and in an
//! import.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use crate::{AccountName, CategoryId, CategoryName, FoldedName, NAME_MAX, TextError};

/// A name that at most one record of its kind may have, compared by its folded form.
pub trait UniqueName: Clone + Sized {
    /// Parses a name by the current rules.
    fn parse(text: &str) -> Result<Self, TextError>;

    /// The name as it was given.
    fn as_str(&self) -> &str;

    /// The form in which names are compared.
    fn folded(&self) -> FoldedName;
}

macro_rules! unique_names {
    ($($name:ident),*) => {$(
        impl UniqueName for $name {
            fn parse(text: &str) -> Result<Self, TextError> {
                $name::parse(text)
            }

            fn as_str(&self) -> &str {
                $name::as_str(self)
            }

            fn folded(&self) -> FoldedName {
                $name::folded(self)
            }
        }
    )*};
}

unique_names!(AccountName, CategoryName);

/// A record that is renamed because an older record has its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed<Id = CategoryId, Name = CategoryName> {
    /// The younger record, whose name changes.
    pub id: Id,
    /// The older record, whose name is equal after folding.
    pub of: Id,
    /// The name it had.
    pub from: Name,
    /// The name it gets.
    pub to: Name,
}

/// The names of all records of a kind, with the collisions among them.
#[derive(Debug)]
pub struct Namesakes<Id = CategoryId, Name = CategoryName> {
    /// The oldest record of each name, with the name as that record has it.
    bearers: HashMap<FoldedName, (Id, Name)>,
    /// The other records, each with the name that it shares with an older one.
    others: BTreeMap<Id, Name>,
}

impl<Id, Name> Default for Namesakes<Id, Name> {
    fn default() -> Self {
        Self { bearers: HashMap::new(), others: BTreeMap::new() }
    }
}

impl<Id: Copy + Ord + Display, Name: UniqueName> Namesakes<Id, Name> {
    /// Adds a record. The record with the lowest id is the oldest, in whatever order records are added.
    pub fn add(&mut self, id: Id, name: Name) {
        let bearer = self.bearers.entry(name.folded()).or_insert_with(|| (id, name.clone()));
        if bearer.0 == id {
            return;
        }
        let (id, name) = if id < bearer.0 { std::mem::replace(bearer, (id, name)) } else { (id, name) };
        self.others.insert(id, name);
    }

    /// Adds a record whose name was generated, and returns its name. If another record has the generated name, a
    /// different name is generated for this record.
    pub fn add_made(&mut self, id: Id, name: Name) -> Name {
        let made = std::iter::once(name.clone()).chain(self.made_of(&name, id));
        let name = self.free_of(made).unwrap_or(name);
        self.bearers.insert(name.folded(), (id, name.clone()));
        name
    }

    /// The number of records whose name is that of an older record.
    pub fn len(&self) -> usize {
        self.others.len()
    }

    /// Returns whether each record has a unique name.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// Each record that has the name of an older record, paired with the older record. The pairs are in the order of
    /// the newer records' ids.
    pub fn pairs(&self) -> impl Iterator<Item = (Id, Id)> {
        self.others.iter().filter_map(|(id, name)| Some((*id, self.bearers.get(&name.folded())?.0)))
    }

    /// Renames each record that has the name of an older one. The record's id is appended to its name, as in `Rex
    /// (7)`.
    pub fn rename(mut self) -> Vec<Renamed<Id, Name>> {
        let mut renamed = Vec::with_capacity(self.others.len());
        for (id, from) in std::mem::take(&mut self.others) {
            let of = self.bearers.get(&from.folded()).map_or(id, |bearer| bearer.0);
            let to = self.free_of(self.made_of(&from, id)).unwrap_or_else(|| from.clone());
            self.bearers.insert(to.folded(), (id, to.clone()));
            renamed.push(Renamed { id, of, from, to });
        }
        renamed
    }

    /// Candidate names with the id appended. Their number is one more than that of the names in use, so that one is
    /// free.
    fn made_of(&self, name: &Name, id: Id) -> impl Iterator<Item = Name> + use<Id, Name> {
        let attempts = u64::try_from(self.bearers.len()).unwrap_or(u64::MAX).saturating_add(1);
        let name = name.clone();
        (1..=attempts).map(move |attempt| apart(&name, id, attempt))
    }

    /// The first of these names that no record has.
    fn free_of(&self, mut names: impl Iterator<Item = Name>) -> Option<Name> {
        names.find(|name| !self.bearers.contains_key(&name.folded()))
    }
}

/// A name with the id appended, as in `Rex (7)`. From the second attempt on, the number of the attempt follows the id,
/// as in `Rex (7-2)`. The name is cut so that the whole has at most [`NAME_MAX`] characters.
fn apart<Name: UniqueName>(name: &Name, id: impl Display, attempt: u64) -> Name {
    let end = if attempt == 1 { format!(" ({id})") } else { format!(" ({id}-{attempt})") };
    let kept: String = name.as_str().chars().take(NAME_MAX.saturating_sub(end.len())).collect();
    Name::parse(&format!("{kept}{end}")).expect("its end is visible, and it is cut")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> CategoryId {
        CategoryId::new(number).unwrap()
    }

    fn name(text: &str) -> CategoryName {
        CategoryName::parse(text).unwrap()
    }

    fn renamed(names: &[(u64, &str)]) -> Vec<(u64, u64, String)> {
        let mut namesakes = Namesakes::default();
        for (number, text) in names {
            namesakes.add(id(*number), name(text));
        }
        namesakes.rename().iter().map(|one| (one.id.get(), one.of.get(), one.to.to_string())).collect()
    }

    #[test]
    fn the_younger_one_gets_its_id_behind_its_name_whichever_comes_first() {
        let expected = [(2, 1, "Cafe\u{301} (2)".to_owned()), (7, 1, "CAFÉ (7)".to_owned())];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let names = [(1, "Café"), (2, "Cafe\u{301}"), (5, "Dogs"), (7, "CAFÉ")];
            assert_eq!(renamed(&order.map(|at: usize| names[at])), expected, "{order:?}");
        }
    }

    #[test]
    fn a_name_that_another_one_has_is_not_given() {
        let expected = [(2, 1, "a (2-2)".to_owned())];
        assert_eq!(renamed(&[(1, "A"), (2, "a"), (3, "A (2)")]), expected);
        assert_eq!(renamed(&[(3, "A (2)"), (2, "a"), (1, "A")]), expected);
    }

    #[test]
    fn a_long_name_is_cut_to_make_room() {
        let long = "é".repeat(NAME_MAX);
        let made = renamed(&[(1, &long), (12, &long)]);
        assert_eq!(made, [(12, 1, format!("{} (12)", "é".repeat(NAME_MAX - 5)))]);
    }

    #[test]
    fn a_made_name_gives_way() {
        let mut namesakes = Namesakes::default();
        namesakes.add(id(4), name("Category 3"));
        assert_eq!(namesakes.add_made(id(3), name("category 3")).as_str(), "category 3 (3)");
        assert!(namesakes.is_empty() && namesakes.rename().is_empty());
    }
}
