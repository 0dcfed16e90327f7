//! The migration of category and account names to the current folding rule.

use std::collections::BTreeMap;
use std::fmt::Display;

use petstore_domain::{
    AccountId, AccountName, CategoryId, CategoryName, FOLDING, IdError, Namesakes, Renamed, Stored,
    UniqueName, stored_name,
};
use rusqlite::{Connection, params};

use crate::repaired_values::RepairError;
use crate::{NameCollisions, RepairedValues, meta};

/// A table of named records. The names are unique after folding.
struct NamedTable<Id, Name> {
    table: &'static str,
    parse_id: fn(u64) -> Result<Id, IdError>,
    number: fn(Id) -> u64,
    /// The replacement for the name of a record without a visible character.
    stand_in: fn(Id) -> Option<Name>,
    /// Further assignments for a record that is renamed, such as a new version, because clients see the new name.
    on_rename: &'static str,
}

const CATEGORIES: NamedTable<CategoryId, CategoryName> = NamedTable {
    table: "categories",
    parse_id: CategoryId::new,
    number: CategoryId::get,
    stand_in: |id| CategoryName::parse(&format!("category {id}")).ok(),
    on_rename: ", version = version + 1",
};

const ACCOUNTS: NamedTable<AccountId, AccountName> = NamedTable {
    table: "accounts",
    parse_id: AccountId::new,
    number: AccountId::get,
    stand_in: |id| AccountName::made_for(id).next(),
    on_rename: "",
};

/// A record's new name, if it has one, and its folded form.
type NewName<Name> = (Option<Name>, String);

/// The names of a table, and their changes.
struct Names<Id, Name> {
    changed: BTreeMap<Id, NewName<Name>>,
    namesakes: Namesakes<Id, Name>,
    /// Records whose name has no visible character, with their new names.
    invisible: Vec<(Id, Name)>,
}

/// Folds all names if the names of the file were folded by another rule than that of this program. The caller has
/// begun a transaction.
pub(crate) fn fold_names(
    connection: &Connection,
    collisions: NameCollisions,
    repaired: &mut RepairedValues,
) -> Result<(), RepairError> {
    if meta::folding(connection)? == Some(FOLDING) {
        return Ok(());
    }
    let (categories, accounts) = (CATEGORIES.read(connection)?, ACCOUNTS.read(connection)?);
    let has_namesakes = !(categories.namesakes.is_empty() && accounts.namesakes.is_empty());
    if collisions == NameCollisions::Refuse && has_namesakes {
        return Err(RepairError::NameCollisions {
            categories: categories.namesakes.pairs().collect(),
            accounts: accounts.namesakes.pairs().collect(),
        });
    }
    (repaired.categories, repaired.renamed) = CATEGORIES.resolve(connection, categories)?;
    (repaired.accounts, repaired.renamed_accounts) = ACCOUNTS.resolve(connection, accounts)?;
    meta::set_folding(connection, FOLDING)?;
    Ok(())
}

impl<Id: Copy + Ord + Display, Name: UniqueName> NamedTable<Id, Name> {
    /// Reads the names of all rows that can be parsed. The other rows are damaged; they are reported when the file is
    /// loaded.
    fn read(&self, connection: &Connection) -> rusqlite::Result<Names<Id, Name>> {
        let mut names =
            Names { changed: BTreeMap::new(), namesakes: Namesakes::default(), invisible: Vec::new() };
        let mut statement =
            connection.prepare(&format!("SELECT id, name, folded_name FROM {}", self.table))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (Ok(text), Ok(folded)) = (row.get_ref(1)?.as_str(), row.get_ref(2)?.as_str()) else {
                continue;
            };
            let Some(id) = row.get(0).ok().and_then(|id| (self.parse_id)(id).ok()) else { continue };
            match stored_name(text, self.table, (self.number)(id)) {
                Ok(Stored::Mended(_)) => names.invisible.extend((self.stand_in)(id).map(|name| (id, name))),
                Ok(Stored::Sound(name)) => {
                    let Ok(name) = Name::parse(&name) else { continue };
                    if name.folded().as_str() != folded {
                        names.changed.insert(id, (None, name.folded().as_str().to_owned()));
                    }
                    names.namesakes.add(id, name);
                }
                Err(_) => {}
            }
        }
        Ok(names)
    }

    /// Makes all names unique and writes the changed ones. Returns the number of names without a visible character, and the
    /// records that were renamed because of a collision.
    fn resolve(
        &self,
        connection: &Connection,
        names: Names<Id, Name>,
    ) -> rusqlite::Result<(u64, Vec<Renamed<Id, Name>>)> {
        let Names { mut changed, mut namesakes, invisible } = names;
        let count = u64::try_from(invisible.len()).unwrap_or(u64::MAX);
        for (id, stand_in) in invisible {
            let name = namesakes.add_made(id, stand_in);
            changed.insert(id, renamed(name));
        }
        let renamed_records = namesakes.rename();
        changed.extend(renamed_records.iter().map(|one| (one.id, renamed(one.to.clone()))));
        self.write(connection, &changed)?;
        Ok((count, renamed_records))
    }

    /// Writes the new names. All old folded forms are first replaced by placeholders, because a record may get the
    /// folded form that another record had. A placeholder contains a control character, so it differs from every name.
    fn write(&self, connection: &Connection, names: &BTreeMap<Id, NewName<Name>>) -> rusqlite::Result<()> {
        let Self { table, on_rename, .. } = self;
        let mut free =
            connection.prepare(&format!("UPDATE {table} SET folded_name = char(1) || id WHERE id = ?1"))?;
        for id in names.keys() {
            free.execute([(self.number)(*id)])?;
        }
        let mut fold = connection.prepare(&format!("UPDATE {table} SET folded_name = ?2 WHERE id = ?1"))?;
        let mut rename =
            connection.prepare(&format!("UPDATE {table} SET name = ?2{on_rename} WHERE id = ?1"))?;
        for (id, (name, folded)) in names {
            fold.execute(params![(self.number)(*id), folded])?;
            if let Some(name) = name {
                rename.execute(params![(self.number)(*id), name.as_str()])?;
            }
        }
        Ok(())
    }
}

fn renamed<Name: UniqueName>(name: Name) -> NewName<Name> {
    let folded = name.folded().as_str().to_owned();
    (Some(name), folded)
}
