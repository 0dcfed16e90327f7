//! Rows of the records whose members the domain has as a table: their statements, their values, and parsing.

use petstore_domain::{Member, MemberSource, StoredMembers, Value, ValueError, ValueKind, ValueType};
use petstore_ports::StoreError;
use rusqlite::Statement;
use rusqlite::types::Null;

use crate::table::{Fields, Sql};

/// Makes the statements of a table. `derived` are columns whose values follow from those of the members.
pub(crate) fn sql<R: StoredMembers>(table: &str, derived: &[&str], has_shortcut: bool) -> Sql {
    let columns: Vec<&str> =
        R::members().map(|member| member.column).chain(derived.iter().copied()).collect();
    let list = columns.join(", ");
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    let insert = format!("INSERT INTO {table} ({list}) VALUES ({})", places.join(", "));
    let set: Vec<String> =
        columns[1..].iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let upsert = format!("{insert} ON CONFLICT (id) DO UPDATE SET {}", set.join(", "));
    Sql {
        select: format!("SELECT {list} FROM {table} ORDER BY id").into(),
        insert: insert.into(),
        upsert: upsert.into(),
        shortcut: has_shortcut.then(|| shortcut::<R>(table)),
    }
}

fn shortcut<R: StoredMembers>(table: &str) -> String {
    let (mut set, mut unchanged) = (Vec::new(), Vec::new());
    for (place, member) in (1..).zip(R::members()).skip(1) {
        if member.is_indexed {
            unchanged.push(format!(" AND {} IS ?{place}", member.column));
        } else {
            set.push(format!("{} = ?{place}", member.column));
        }
    }
    format!("UPDATE {table} SET {} WHERE id = ?1{}", set.join(", "), unchanged.concat())
}

/// Runs a statement with the values of the members, and of the derived columns after them.
pub(crate) fn run<R: StoredMembers>(
    record: &R,
    derived: &[&str],
    statement: &mut Statement<'_>,
) -> rusqlite::Result<usize> {
    let mut place = 0;
    for _ in R::members() {
        place += 1;
        match record.value_at(place - 1) {
            Value::Absent => statement.raw_bind_parameter(place, Null),
            Value::Number(number) => statement.raw_bind_parameter(place, number),
            Value::Text(text) | Value::Word(text) => statement.raw_bind_parameter(place, text),
            Value::Time(time) => statement.raw_bind_parameter(place, time.to_string()),
            Value::Flag(flag) => statement.raw_bind_parameter(place, flag),
        }?;
    }
    for value in derived {
        // A shortcut has no derived columns.
        if place < statement.parameter_count() {
            place += 1;
            statement.raw_bind_parameter(place, value)?;
        }
    }
    statement.raw_execute()
}

impl MemberSource for Fields<'_> {
    type Fault = StoreError;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, StoreError> {
        let parsed = match member.kind {
            ValueKind::Id | ValueKind::Number { .. } => {
                let number: Option<u64> = self.plain(member.column)?;
                T::of(number.map_or(Value::Absent, Value::Number))
            }
            ValueKind::Flag => match self.plain::<Option<i64>>(member.column)? {
                None => T::of(Value::Absent),
                Some(flag @ (0 | 1)) => T::of(Value::Flag(flag == 1)),
                Some(_) => return Err(self.damaged(member.column, "must be 0 or 1")),
            },
            ValueKind::Text { .. } | ValueKind::Word(_) | ValueKind::Time => {
                let parsed = self.optional(member.column, |text| T::of(Value::Text(text)))?;
                parsed.map_or_else(|| T::of(Value::Absent), Ok::<T, ValueError>)
            }
        };
        parsed.map_err(|why| self.damaged(member.column, why))
    }
}
