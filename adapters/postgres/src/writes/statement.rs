//! The one statement that writes a batch.
//!
//! It consists of parts, each a common table expression that writes the rows of one table from arrays, one array a column.
//! The text contains only the parts that have rows. All parts run on one snapshot, and foreign keys are checked after
//! all of them. PostgreSQL runs the last part of the text first, so the text has the parts in the reverse of the order
//! in which they take locks.

mod parts;

use std::collections::HashSet;
use std::fmt::Write;

use super::decide::Decisions;
use super::net_changes::NetChanges;
use crate::connection::Parameter;
use crate::members::Column;

/// The maximum number of texts that a connection prepares, besides the one that has all parts. Each text takes memory
/// of the server.
const TEXTS_MAX: usize = 64;

/// A part of the statement, with its number.
struct Part<'r> {
    number: u32,
    /// The text, with a question mark for each parameter.
    sql: &'static str,
    columns: Vec<Column<'r>>,
    has_rows: bool,
}

/// A statement with its parameters.
pub(super) struct Statement<'r> {
    pub(super) sql: String,
    columns: Vec<Column<'r>>,
}

impl Statement<'_> {
    /// The parameters, in their order.
    pub(super) fn parameters(&self) -> Vec<&dyn Parameter> {
        self.columns.iter().map(|column| &**column as &dyn Parameter).collect()
    }
}

/// The texts that a connection has prepared.
#[derive(Debug, Default)]
pub(super) struct Texts(HashSet<u32>);

impl Texts {
    /// The texts of a connection that has reached the maximum. Its statements have all parts.
    #[cfg(test)]
    pub(super) fn full() -> Self {
        let unlikely = 1 << 31;
        Self((0..64).map(|number| unlikely | number).collect())
    }

    /// Builds the statement for the changes of a batch. `slot`: the slot of this handle in the counts of idempotency records.
    pub(super) fn statement<'r>(
        &mut self,
        net: &NetChanges<'r>,
        decisions: &'r Decisions,
        token: [u8; 16],
        slot: i16,
    ) -> Statement<'r> {
        let parts = parts::of(net, decisions, token, slot);
        let present = parts.iter().filter(|part| part.has_rows).fold(0, |all, part| all | 1 << part.number);
        let is_known = self.0.contains(&present);
        if !is_known && self.0.len() < TEXTS_MAX {
            self.0.insert(present);
        } else if !is_known {
            // The text with all parts serves any batch, because a part without rows writes nothing.
            return build(parts.into_iter().rev());
        }
        build(parts.into_iter().rev().filter(|part| part.has_rows))
    }
}

fn build<'r>(parts: impl Iterator<Item = Part<'r>>) -> Statement<'r> {
    let mut statement = Statement { sql: String::from("with "), columns: Vec::new() };
    for (place, part) in parts.enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        let _: Result<(), _> = write!(statement.sql, "{separator}part{} as (", part.number);
        for (place, text) in part.sql.split('?').enumerate() {
            if place > 0 {
                let number = statement.columns.len() + place;
                let _: Result<(), _> = write!(statement.sql, "${number}");
            }
            statement.sql.push_str(text);
        }
        statement.sql.push(')');
        statement.columns.extend(part.columns);
    }
    statement.sql.push_str(" select 1");
    statement
}

#[cfg(test)]
mod tests {
    use petstore_domain::{
        CategoryId, Change, Changes, NewPet, PetId, PetName, PetRecord, StoredMembers as _,
    };

    use super::super::loaded::Loaded;
    use super::*;

    fn decided(id: u64) -> Decisions {
        let new = NewPet::new(PetName::parse("Rex").unwrap(), CategoryId::FIRST);
        let pet = PetRecord::new(PetId::new(id).unwrap(), new);
        let mut decisions = Decisions::default();
        decisions.add(&Loaded::default(), Changes::from([Change::Pet(pet)]));
        decisions
    }

    #[test]
    fn the_text_has_the_parts_with_rows_and_numbers_its_parameters() {
        let decisions = decided(1);
        let net = NetChanges::of(&Loaded::default(), &decisions.overlay);
        let statement = Texts::default().statement(&net, &decisions, [0; 16], 3);
        let parameters = PetRecord::members().count() + 2;
        assert_eq!(
            statement.parameters().len(),
            parameters,
            "the members of a pet, its folded name, and the token"
        );
        assert!(statement.sql.contains("insert into pets") && !statement.sql.contains("insert into orders"));
        let has = |number: usize| statement.sql.contains(&format!("${number}"));
        assert!(has(parameters) && !has(parameters + 1), "{}", statement.sql);
        assert!(!statement.sql.contains('?'));
    }

    #[test]
    fn beyond_the_bound_the_text_has_all_parts() {
        let decisions = decided(1);
        let net = NetChanges::of(&Loaded::default(), &decisions.overlay);
        let mut texts = Texts::full();
        let all = texts.statement(&net, &decisions, [0; 16], 3);
        for table in
            ["pets", "categories", "orders", "accounts", "keys", "idempotency_counts", "event_batches"]
        {
            assert!(all.sql.contains(table), "{table}");
        }
        assert_eq!(texts.0.len(), TEXTS_MAX);
    }
}
