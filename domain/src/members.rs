//! The members of records as data: one table for each record, beside its struct.
//!
//! A table has one line for each member: the field, which is also the name of its column, its type, its name in JSON, and
//! marks. Stores make their SQL from the tables, codecs write and read records by them, events find the old values of a
//! change in them, and tests make samples of them. So a member is added in one line, see
//! `docs/contributing/add-a-member.md`.
//!
//! ```
//! use petstore_domain::{Members, Pet, Value};
//!
//! let columns: Vec<_> = Pet::MEMBERS.iter().map(|entry| entry.member.column).collect();
//! assert_eq!(columns[..4], ["id", "name", "category_id", "status"]);
//!
//! let pet = petstore_domain::sample::<Pet>(petstore_domain::Sample::Fullest);
//! assert_eq!((Pet::MEMBERS[3].get)(&pet), Value::Word("sold"));
//! ```

mod previous;
mod samples;
mod value_types;

pub use previous::Previous;
pub use samples::{Sample, sample, sample_by, stored_sample_by};
pub use value_types::{Value, ValueError, ValueKind, ValueType};

/// The description of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its name in JSON.
    pub json: &'static str,
    /// The name of its field, which is also that of its column and of its member in kept outcomes.
    pub column: &'static str,
    /// The kind of its value, with its bounds.
    pub kind: ValueKind,
    /// True if it may be absent.
    pub is_optional: bool,
    /// True if an index or a foreign key reads its column. A store need not write an unchanged value of it.
    pub is_indexed: bool,
    /// The event that tells its change.
    pub change: MemberChange,
    /// The form of stored events and outcomes in which it appeared. In older ones it is absent.
    pub since: u32,
}

/// The event that tells the change of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    /// It never changes.
    Never,
    /// Its change has an event of its own.
    OwnEvent,
    /// An event of the kind `updated` has its old value.
    Updated,
}

impl Member {
    /// Describes a member whose values have this type. It is not indexed, and there from the first form.
    pub const fn of<T: ValueType>(json: &'static str, column: &'static str) -> Self {
        let (kind, is_optional) = (T::KIND, T::IS_OPTIONAL);
        Self { json, column, kind, is_optional, is_indexed: false, change: MemberChange::Updated, since: 1 }
    }

    /// Marks a member whose column is indexed.
    #[must_use]
    pub const fn indexed(self) -> Self {
        Self { is_indexed: true, ..self }
    }

    /// Marks a member that never changes.
    #[must_use]
    pub const fn fixed(self) -> Self {
        Self { change: MemberChange::Never, ..self }
    }

    /// Marks a member whose change has an event of its own.
    #[must_use]
    pub const fn own_event(self) -> Self {
        Self { change: MemberChange::OwnEvent, ..self }
    }

    /// Marks a member that appeared in this form.
    #[must_use]
    pub const fn since(self, form: u32) -> Self {
        Self { since: form, ..self }
    }
}

/// A member of a record, and how its value is read and set.
#[derive(Debug)]
pub struct MemberOf<R: 'static> {
    /// The description, which does not depend on the record.
    pub member: Member,
    /// Returns its value.
    pub get: for<'r> fn(&'r R) -> Value<'r>,
    /// Sets its value, if it is valid.
    pub set: fn(&mut R, Value<'_>) -> Result<(), ValueError>,
    /// Copies its value from the second record to the first.
    pub copy: fn(&mut R, &R),
    /// Returns whether both records have the same value.
    pub is_same: fn(&R, &R) -> bool,
}

/// A source of the values of a record, such as a row or an event.
pub trait MemberSource {
    /// The reason why a value cannot be taken.
    type Fault;

    /// Takes the value of a member. The members are taken in the order of their table.
    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, Self::Fault>;
}

/// A record, or a part of one, with a table of its members.
pub trait Members: Sized + 'static {
    /// The members, in the order in which events keep them. A new member is the last one.
    const MEMBERS: &'static [MemberOf<Self>];

    /// Reads all members, in the order of the table.
    fn read<S: MemberSource>(source: &mut S) -> Result<Self, S::Fault>;
}

/// A record as a store keeps it: a resource that clients see, and further members beside it.
pub trait StoredMembers: Sized + 'static {
    /// The resource.
    type Resource: Members;

    /// The columns of all members, with commas between them.
    const COLUMNS: &'static str;

    /// The table of the members beside the resource.
    const BESIDE: &'static [MemberOf<Self>];

    /// The resource of a record.
    fn resource(&self) -> &Self::Resource;

    /// Reads all members: first those of the resource.
    fn read<S: MemberSource>(source: &mut S) -> Result<Self, S::Fault>;

    /// All members, with those of the resource first.
    fn members() -> impl Iterator<Item = &'static Member> {
        let shown = Self::Resource::MEMBERS.iter().map(|entry| &entry.member);
        shown.chain(Self::BESIDE.iter().map(|entry| &entry.member))
    }

    /// The value at a place in the order of [`StoredMembers::members`].
    fn value_at(&self, place: usize) -> Value<'_> {
        let shown = Self::Resource::MEMBERS;
        match (shown.get(place), place.checked_sub(shown.len()).and_then(|place| Self::BESIDE.get(place))) {
            (Some(entry), _) => (entry.get)(self.resource()),
            (None, Some(entry)) => (entry.get)(self),
            (None, None) => Value::Absent,
        }
    }
}

/// Makes the table of a record's members. One line is `field: Type = "nameInJson", marks;`. The marks are the methods of
/// [`Member`]: `indexed`, `fixed`, `own_event`, `since 2`. A field without a line is an error of the compiler.
macro_rules! members {
    ($record:ident { $($lines:tt)* }) => {
        impl $crate::Members for $record {
            const MEMBERS: &'static [$crate::MemberOf<Self>] = $crate::members::entries!($($lines)*);

            fn read<S: $crate::MemberSource>(source: &mut S) -> Result<Self, S::Fault> {
                $crate::members::taken!(source, Self {} $($lines)*)
            }
        }
    };
    ($record:ident of $resource:ident: $resource_type:ident { $($lines:tt)* }) => {
        impl $crate::StoredMembers for $record {
            type Resource = $resource_type;

            const COLUMNS: &'static str = {
                const LENGTH: usize = $crate::members::columns_length(
                    <$resource_type as $crate::Members>::MEMBERS,
                    <$record as $crate::StoredMembers>::BESIDE,
                );
                const BYTES: [u8; LENGTH] = $crate::members::columns(
                    <$resource_type as $crate::Members>::MEMBERS,
                    <$record as $crate::StoredMembers>::BESIDE,
                );
                match std::str::from_utf8(&BYTES) {
                    Ok(columns) => columns,
                    Err(_) => panic!("the names of fields are UTF-8"),
                }
            };

            const BESIDE: &'static [$crate::MemberOf<Self>] = $crate::members::entries!($($lines)*);

            fn resource(&self) -> &$resource_type {
                &self.$resource
            }

            fn read<S: $crate::MemberSource>(source: &mut S) -> Result<Self, S::Fault> {
                $crate::members::taken!(
                    source,
                    Self { $resource: <$resource_type as $crate::Members>::read(source)?, }
                    $($lines)*
                )
            }
        }
    };
}

/// The entries of the lines of [`members!`].
macro_rules! entries {
    ($($(#[$attribute:meta])* $field:ident: $type:ty = $json:literal $(, $mark:ident $($form:literal)?)*;)*) => {
        &[$(
            $(#[$attribute])*
            $crate::MemberOf {
                member: $crate::Member::of::<$type>($json, stringify!($field))$(.$mark($($form)?))*,
                get: |record| <$type as $crate::ValueType>::value(&record.$field),
                set: |record, value| {
                    record.$field = <$type as $crate::ValueType>::of(value)?;
                    Ok(())
                },
                copy: |into, from| into.$field.clone_from(&from.$field),
                is_same: |one, other| one.$field == other.$field,
            },
        )*]
    };
}

/// The record that the lines of [`members!`] read from a source.
macro_rules! taken {
    (
        $source:ident, Self { $($resource:ident: $read:expr,)? }
        $($(#[$attribute:meta])* $field:ident: $type:ty = $json:literal $(, $mark:ident $($form:literal)?)*;)*
    ) => {
        Ok(Self {
            $($resource: $read,)?
            $(
                $(#[$attribute])*
                $field: $source.take::<$type>(const {
                    &$crate::Member::of::<$type>($json, stringify!($field))$(.$mark($($form)?))*
                })?,
            )*
        })
    };
}

pub(crate) use {entries, members, taken};

const COMMA: &[u8] = b", ";

/// The length of [`StoredMembers::COLUMNS`].
pub(crate) const fn columns_length<Q, R>(shown: &[MemberOf<Q>], beside: &[MemberOf<R>]) -> usize {
    let (mut length, mut place) = (0, 0);
    while place < shown.len() {
        length += shown[place].member.column.len() + COMMA.len();
        place += 1;
    }
    place = 0;
    while place < beside.len() {
        length += beside[place].member.column.len() + COMMA.len();
        place += 1;
    }
    length - COMMA.len()
}

/// The bytes of [`StoredMembers::COLUMNS`].
pub(crate) const fn columns<Q, R, const LENGTH: usize>(
    shown: &[MemberOf<Q>],
    beside: &[MemberOf<R>],
) -> [u8; LENGTH] {
    let (mut bytes, mut end, mut place) = ([0; LENGTH], 0, 0);
    while place < shown.len() + beside.len() {
        if place > 0 {
            end = written(&mut bytes, end, COMMA);
        }
        let column = if place < shown.len() {
            shown[place].member.column
        } else {
            beside[place - shown.len()].member.column
        };
        end = written(&mut bytes, end, column.as_bytes());
        place += 1;
    }
    bytes
}

const fn written(bytes: &mut [u8], at: usize, part: &[u8]) -> usize {
    let mut place = 0;
    while place < part.len() {
        bytes[at + place] = part[place];
        place += 1;
    }
    at + part.len()
}

#[cfg(test)]
mod tests;
