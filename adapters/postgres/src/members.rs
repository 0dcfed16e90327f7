//! The SQL and the values of the records whose members the domain has as a table.

use chrono::{DateTime, Utc};
use petstore_domain::{
    Member, MemberSource, Members, StoredMembers, Timestamp, Value, ValueError, ValueKind, ValueType,
};
use petstore_ports::StoreError;
use tokio_postgres::types::Type;

use crate::connection::Parameter;
use crate::records::{Fields, stored};

/// The values of one column.
pub(crate) type Column<'r> = Box<dyn Parameter + Send + 'r>;

/// A column whose values follow from those of the members.
pub(crate) struct Derived<R> {
    pub(crate) column: &'static str,
    pub(crate) value: fn(&R) -> String,
}

/// The statements that write the rows of a table from arrays, one array a column, with a question mark for each.
///
/// The columns that no index reads come first, then the indexed ones and the derived ones, which are indexed, too.
pub(crate) struct TableSql {
    pub(crate) insert: String,
    /// Sets all columns.
    pub(crate) update: String,
    /// Sets the columns that no index reads.
    pub(crate) update_in_place: String,
}

impl TableSql {
    pub(crate) fn new<R: StoredMembers>(table: &str, derived: &[Derived<R>]) -> Self {
        let in_place: Vec<Typed> = places::<R>(false).map(|(_, member)| typed(member)).collect();
        let mut all = in_place.clone();
        all.extend(places::<R>(true).map(|(_, member)| typed(member)));
        all.extend(derived.iter().map(|derived| (derived.column, "text")));
        let insert = format!("insert into {table} ({}) select * from unnest({})", names(&all), arrays(&all));
        let update = |columns: &[Typed]| {
            let set: Vec<_> =
                columns[1..].iter().map(|(column, _)| format!("{column} = i.{column}")).collect();
            format!(
                "update {table} set {} from unnest({}) as i ({}) where {table}.id = i.id",
                set.join(", "),
                arrays(columns),
                names(columns)
            )
        };
        Self { insert, update: update(&all), update_in_place: update(&in_place) }
    }
}

/// The name of a column, and its type.
type Typed = (&'static str, &'static str);

fn typed(member: &Member) -> Typed {
    let kind = match member.kind {
        // A smaller integer column takes the number, too.
        ValueKind::Id | ValueKind::Number { .. } => "int8",
        ValueKind::Text { .. } | ValueKind::Word(_) => "text",
        ValueKind::Time => "timestamptz",
        ValueKind::Flag => "bool",
    };
    (member.column, kind)
}

fn names(columns: &[Typed]) -> String {
    columns.iter().map(|(column, _)| *column).collect::<Vec<_>>().join(", ")
}

fn arrays(columns: &[Typed]) -> String {
    columns.iter().map(|(_, kind)| format!("?::{kind}[]")).collect::<Vec<_>>().join(", ")
}

/// The members that are indexed, or are not, with their places.
fn places<R: StoredMembers>(is_indexed: bool) -> impl Iterator<Item = (usize, &'static Member)> {
    R::members().enumerate().filter(move |(_, member)| member.is_indexed == is_indexed)
}

/// The values of the columns that no index reads, in the order of [`TableSql`].
pub(crate) fn in_place<'r, R: StoredMembers>(rows: &[&'r R]) -> Vec<Column<'r>> {
    places::<R>(false).map(|(place, member)| column(rows, place, member.kind)).collect()
}

/// The values of all columns, in the order of [`TableSql`].
pub(crate) fn all<'r, R: StoredMembers>(rows: &[&'r R], derived: &[Derived<R>]) -> Vec<Column<'r>> {
    let mut columns = in_place(rows);
    columns.extend(places::<R>(true).map(|(place, member)| column(rows, place, member.kind)));
    columns.extend(derived.iter().map(|derived| -> Column<'r> {
        Box::new(rows.iter().map(|row| (derived.value)(row)).collect::<Vec<String>>())
    }));
    columns
}

fn column<'r, R: StoredMembers>(rows: &[&'r R], place: usize, kind: ValueKind) -> Column<'r> {
    let values = rows.iter().map(|row| row.value_at(place));
    match kind {
        ValueKind::Id | ValueKind::Number { .. } => Box::new(values.map(number).collect::<Vec<_>>()),
        ValueKind::Text { .. } | ValueKind::Word(_) => Box::new(values.map(text).collect::<Vec<_>>()),
        ValueKind::Time => Box::new(values.map(time).collect::<Vec<_>>()),
        ValueKind::Flag => Box::new(values.map(flag).collect::<Vec<_>>()),
    }
}

/// A number beyond the range of `bigint` fails the CHECK of its column.
fn number(value: Value<'_>) -> Option<i64> {
    value.number().ok().map(|number| i64::try_from(number).unwrap_or(i64::MAX))
}

fn text(value: Value<'_>) -> Option<&str> {
    value.text().ok()
}

fn time(value: Value<'_>) -> Option<DateTime<Utc>> {
    if let Value::Time(time) = value { Some(stored(time)) } else { None }
}

const fn flag(value: Value<'_>) -> Option<bool> {
    if let Value::Flag(flag) = value { Some(flag) } else { None }
}

/// Returns whether an indexed member differs.
pub(crate) fn is_moved<R: Members>(before: &R, after: &R) -> bool {
    R::MEMBERS.iter().any(|entry| entry.member.is_indexed && !(entry.is_same)(before, after))
}

impl MemberSource for Fields<'_> {
    type Fault = StoreError;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, StoreError> {
        match member.kind {
            ValueKind::Id | ValueKind::Number { .. } if self.has_type(&Type::INT4) => {
                self.parsed(|number: Option<i32>| of_number(number.map(i64::from)))
            }
            ValueKind::Id | ValueKind::Number { .. } => self.parsed(of_number),
            ValueKind::Text { .. } => {
                self.parsed(|text: Option<&str>| T::of(text.map_or(Value::Absent, Value::Text)))
            }
            ValueKind::Word(_) => {
                self.parsed(|word: Option<&str>| T::of(word.map_or(Value::Absent, Value::Word)))
            }
            ValueKind::Time => self.parsed(|time: Option<DateTime<Utc>>| {
                let Some(time) = time else { return T::of(Value::Absent) };
                T::of(Value::Time(Timestamp::from_millis(time.timestamp_millis())?))
            }),
            ValueKind::Flag => {
                self.parsed(|flag: Option<bool>| T::of(flag.map_or(Value::Absent, Value::Flag)))
            }
        }
    }
}

/// Parses a number. A negative one is out of every range.
fn of_number<T: ValueType>(number: Option<i64>) -> Result<T, ValueError> {
    let Some(number) = number else { return T::of(Value::Absent) };
    T::of(Value::Number(u64::try_from(number).map_err(|_| ValueError::OtherKind)?))
}
