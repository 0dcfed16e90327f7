//! A record that gets a member in form 2, between programs that know the member and programs that do not.

use petstore_domain::{
    Member, MemberOf, MemberSource, Members, PetId, PetName, Previous, Value, ValueError, ValueType,
};

use crate::reader::Reader;
use crate::writer::Writer;

#[derive(Debug, Clone, PartialEq)]
struct Older {
    id: PetId,
    name: PetName,
}

/// The record with one member more.
#[derive(Debug, Clone, PartialEq)]
struct Newer {
    id: PetId,
    name: PetName,
    nickname: Option<PetName>,
}

macro_rules! entry {
    ($field:ident: $type:ty, $($mark:ident $($form:literal)?)?) => {
        MemberOf {
            member: Member::of::<$type>(stringify!($field), stringify!($field))$(.$mark($($form)?))?,
            get: |record| record.$field.value(),
            set: |record, value: Value<'_>| {
                record.$field = <$type as ValueType>::of(value)?;
                Ok::<(), ValueError>(())
            },
            copy: |into, from| into.$field.clone_from(&from.$field),
            is_same: |one, other| one.$field == other.$field,
        }
    };
}

impl Members for Older {
    const MEMBERS: &'static [MemberOf<Self>] = &[entry!(id: PetId, fixed), entry!(name: PetName,)];

    fn read<S: MemberSource>(source: &mut S) -> Result<Self, S::Fault> {
        let [id, name] = Self::MEMBERS else { unreachable!("the members of this record") };
        Ok(Self { id: source.take(&id.member)?, name: source.take(&name.member)? })
    }
}

impl Members for Newer {
    const MEMBERS: &'static [MemberOf<Self>] =
        &[entry!(id: PetId, fixed), entry!(name: PetName,), entry!(nickname: Option<PetName>, since 2)];

    fn read<S: MemberSource>(source: &mut S) -> Result<Self, S::Fault> {
        let [id, name, nickname] = Self::MEMBERS else { unreachable!("the members of this record") };
        let (id, name) = (source.take(&id.member)?, source.take(&name.member)?);
        Ok(Self { id, name, nickname: source.take(&nickname.member)? })
    }
}

fn name(text: &str) -> PetName {
    PetName::parse(text).expect("a name")
}

fn rex(nickname: Option<&str>) -> Newer {
    Newer { id: PetId::FIRST, name: name("Rex"), nickname: nickname.map(name) }
}

fn written<R: Members>(form: u32, record: &R) -> Vec<u8> {
    let mut bytes = Vec::new();
    Writer::new(&mut bytes, form).record(record);
    bytes
}

#[test]
fn an_older_event_is_read_with_the_member_absent() {
    let bytes = written(1, &Older { id: PetId::FIRST, name: name("Rex") });
    let mut reader = Reader::new(&bytes, 1);
    assert_eq!(reader.record(), Ok(rex(None)));
    assert!(reader.is_at_end());
}

#[test]
fn a_newer_program_writes_the_older_form_as_an_older_program_does() {
    let bytes = written(1, &rex(Some("Rexy")));
    assert_eq!(bytes, written(1, &Older { id: PetId::FIRST, name: name("Rex") }));
    let mut reader = Reader::new(&bytes, 1);
    assert_eq!(reader.record(), Ok(Older { id: PetId::FIRST, name: name("Rex") }));
    let previous = Previous::between(&rex(None), &rex(Some("Rexy")));
    let mut old_values = Vec::new();
    Writer::new(&mut old_values, 1).previous(&previous, |_| false);
    assert_eq!(old_values, [0], "the name has not changed, and form 1 has no nickname");
}

#[test]
fn the_newer_form_has_the_member_and_its_old_value() {
    for (before, after) in [(None, Some("Rexy")), (Some("Rexy"), None), (Some("Rexy"), Some("R"))] {
        let (before, after) = (rex(before), rex(after));
        let mut bytes = written(2, &after);
        let previous = Previous::between(&before, &after);
        Writer::new(&mut bytes, 2).previous(&previous, |_| false);
        let mut reader = Reader::new(&bytes, 2);
        let read: Newer = reader.record().expect("a record");
        assert_eq!((&read, reader.previous(&read, |_| false)), (&after, Ok(previous)));
        let mut skipped = Reader::new(&bytes, 2);
        assert_eq!(skipped.skip_record::<Newer>().and(skipped.skip_previous::<Newer>(|_| false)), Ok(()));
        assert!(reader.is_at_end() && skipped.is_at_end());
    }
}
