//! Folding the names of all categories again, where a file has them folded by an older rule.

use std::collections::BTreeMap;

use petstore_domain::{CategoryId, CategoryName, FOLDING, Namesakes, Stored, stored_name};
use rusqlite::{Connection, params};

use crate::mended::MendError;
use crate::{IfNamesakes, Mended, meta};

/// A category's new name, if it has one, and its folded form.
type NewName = (Option<CategoryName>, String);

/// Folds them if the file's rule is another one. The caller has a transaction.
pub(crate) fn fold_again(
    connection: &Connection,
    if_namesakes: IfNamesakes,
    mended: &mut Mended,
) -> Result<(), MendError> {
    if meta::folding(connection)? == Some(FOLDING) {
        return Ok(());
    }
    let mut new_names = BTreeMap::new();
    let mut namesakes = Namesakes::default();
    let mut unseen = Vec::new();
    for (id, name, folded) in categories(connection)? {
        match name {
            Stored::Sound(name) => {
                if name.folded().as_str() != folded {
                    new_names.insert(id, (None, name.folded().as_str().to_owned()));
                }
                namesakes.add(id, name);
            }
            Stored::Mended(name) => unseen.push((id, name)),
        }
    }
    if if_namesakes == IfNamesakes::Refuse && !namesakes.is_empty() {
        return Err(MendError::Namesakes(namesakes.pairs().collect()));
    }
    mended.categories = u64::try_from(unseen.len()).unwrap_or(u64::MAX);
    for (id, name) in unseen {
        let name = namesakes.add_made(id, name);
        new_names.insert(id, renamed(name));
    }
    mended.renamed = namesakes.rename();
    new_names.extend(mended.renamed.iter().map(|one| (one.id, renamed(one.to.clone()))));
    write(connection, &new_names)?;
    meta::set_folding(connection, FOLDING)?;
    Ok(())
}

fn renamed(name: CategoryName) -> NewName {
    let folded = name.folded().as_str().to_owned();
    (Some(name), folded)
}

/// Every category that can be read: its id, its name and its folded name as they are stored.
fn categories(connection: &Connection) -> rusqlite::Result<Vec<(CategoryId, Stored<CategoryName>, String)>> {
    let mut statement = connection.prepare("SELECT id, name, folded_name FROM categories")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (Ok(text), Ok(folded)) = (row.get_ref(1)?.as_str(), row.get_ref(2)?.as_str()) else { continue };
        let Some(id) = row.get(0).ok().and_then(|id| CategoryId::new(id).ok()) else { continue };
        let name = match stored_name(text, "category", id.get()) {
            Ok(Stored::Mended(made)) => CategoryName::parse(&made).map(Stored::Mended),
            Ok(Stored::Sound(name)) => CategoryName::parse(&name).map(Stored::Sound),
            Err(error) => Err(error),
        };
        found.extend(name.map(|name| (id, name, folded.to_owned())));
    }
    Ok(found)
}

/// First every old form goes, since one category may get what another one had. A form with a control character is no name's.
fn write(connection: &Connection, names: &BTreeMap<CategoryId, NewName>) -> rusqlite::Result<()> {
    let mut free = connection.prepare("UPDATE categories SET folded_name = char(1) || id WHERE id = ?1")?;
    for id in names.keys() {
        free.execute([id.get()])?;
    }
    let mut fold = connection.prepare("UPDATE categories SET folded_name = ?2 WHERE id = ?1")?;
    let mut rename =
        connection.prepare("UPDATE categories SET name = ?2, version = version + 1 WHERE id = ?1")?;
    for (id, (name, folded)) in names {
        fold.execute(params![id.get(), folded])?;
        if let Some(name) = name {
            rename.execute(params![id.get(), name.as_str()])?;
        }
    }
    Ok(())
}
