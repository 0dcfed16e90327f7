//! Categories whose names read the same, where each must have a name of its own: in what older versions stored, and in an
//! import.

use std::collections::{BTreeMap, HashMap};

use crate::{CategoryId, CategoryName, FoldedName, NAME_MAX};

/// A category that gets another name, since an older one has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The category.
    pub id: CategoryId,
    /// The category whose name reads the same.
    pub of: CategoryId,
    /// The name it had.
    pub from: CategoryName,
    /// The name it gets.
    pub to: CategoryName,
}

/// The names of all categories, and who shares one.
#[derive(Debug, Default)]
pub struct Namesakes {
    /// The oldest category of each name, and that name.
    bearers: HashMap<FoldedName, (CategoryId, CategoryName)>,
    /// The others, each with the name that it shares.
    others: BTreeMap<CategoryId, CategoryName>,
}

impl Namesakes {
    /// Adds a category. The one with the lowest id is the oldest, whatever the order in which they come.
    pub fn add(&mut self, id: CategoryId, name: CategoryName) {
        let bearer = self.bearers.entry(name.folded()).or_insert_with(|| (id, name.clone()));
        if bearer.0 == id {
            return;
        }
        let (id, name) = if id < bearer.0 { std::mem::replace(bearer, (id, name)) } else { (id, name) };
        self.others.insert(id, name);
    }

    /// Adds a category whose name was made for it: every other one keeps its name before this one does.
    pub fn add_made(&mut self, id: CategoryId, name: CategoryName) -> CategoryName {
        let made = std::iter::once(name.clone()).chain(self.made_of(&name, id));
        let name = self.free_of(made).unwrap_or(name);
        self.bearers.insert(name.folded(), (id, name.clone()));
        name
    }

    /// How many categories have a name that an older one has.
    pub fn len(&self) -> usize {
        self.others.len()
    }

    /// Whether each category has a name of its own.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// The categories that have a name that an older one has, by id, each with that older one.
    pub fn pairs(&self) -> impl Iterator<Item = (CategoryId, CategoryId)> {
        self.others.iter().filter_map(|(id, name)| Some((*id, self.bearers.get(&name.folded())?.0)))
    }

    /// Gives each category that has the name of an older one that name with its own id behind it, ` (7)`.
    pub fn rename(mut self) -> Vec<Renamed> {
        let mut renamed = Vec::with_capacity(self.others.len());
        for (id, from) in std::mem::take(&mut self.others) {
            let of = self.bearers.get(&from.folded()).map_or(id, |bearer| bearer.0);
            let to = self.free_of(self.made_of(&from, id)).unwrap_or_else(|| from.clone());
            self.bearers.insert(to.folded(), (id, to.clone()));
            renamed.push(Renamed { id, of, from, to });
        }
        renamed
    }

    /// The name with the id behind it, in as many forms as there are categories that could have one of them, and one more.
    fn made_of(&self, name: &CategoryName, id: CategoryId) -> impl Iterator<Item = CategoryName> + use<> {
        let attempts = u64::try_from(self.bearers.len()).unwrap_or(u64::MAX).saturating_add(1);
        let name = name.clone();
        (1..=attempts).map(move |attempt| apart(&name, id, attempt))
    }

    /// The first of these names that no category has.
    fn free_of(&self, mut names: impl Iterator<Item = CategoryName>) -> Option<CategoryName> {
        names.find(|name| !self.bearers.contains_key(&name.folded()))
    }
}

/// A name with the id behind it, ` (7)`, and with the number of the attempt from the second on, ` (7-2)`; the name is cut so
/// that all of it has at most [`NAME_MAX`] characters.
fn apart(name: &CategoryName, id: CategoryId, attempt: u64) -> CategoryName {
    let end = if attempt == 1 { format!(" ({id})") } else { format!(" ({id}-{attempt})") };
    let kept: String = name.as_str().chars().take(NAME_MAX.saturating_sub(end.len())).collect();
    CategoryName::parse(&format!("{kept}{end}")).expect("its end is visible, and it is cut")
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
