//! Resources with their versions as JSON objects, by the tables of their members.

use std::error::Error;

use petstore_domain::{Member, MemberSource, Members, Value, ValueKind, ValueType, Version, Versioned};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json};

type Fault = Box<dyn Error>;

/// The name of the version among the members.
const VERSION: &str = "version";

/// A resource as it is kept in one form: without members that appeared in a later one.
pub(crate) struct Kept<'r, R> {
    /// The name of its kind.
    pub(crate) kind: &'static str,
    pub(crate) resource: &'r Versioned<R>,
    pub(crate) form: u32,
}

impl<R: Members> Serialize for Kept<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.kind, &Content(self))?;
        map.end()
    }
}

struct Content<'k, 'r, R>(&'k Kept<'r, R>);

impl<R: Members> Serialize for Content<'_, '_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Kept { resource, form, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        for entry in R::MEMBERS.iter().filter(|entry| entry.member.since <= *form) {
            let value = (entry.get)(&resource.value);
            // The members of the first form are always there, if only as null, since all versions have written them so.
            if value != Value::Absent || entry.member.since == 1 {
                map.serialize_entry(entry.member.column, &Scalar(value))?;
            }
        }
        map.serialize_entry(VERSION, &resource.version.get())?;
        map.end()
    }
}

struct Scalar<'v>(Value<'v>);

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Absent => serializer.serialize_none(),
            Value::Number(number) => serializer.serialize_u64(number),
            Value::Text(text) | Value::Word(text) => serializer.serialize_str(text),
            Value::Time(time) => serializer.collect_str(&time),
            Value::Flag(flag) => serializer.serialize_bool(flag),
        }
    }
}

/// Decodes a resource. Members that are not there are absent.
pub(crate) fn resource<R: Members>(object: Json) -> Result<Versioned<R>, Fault> {
    let Json::Object(members) = object else { return Err(unknown()) };
    let mut source = Source(members);
    let value = R::read(&mut source)?;
    let version = source.0.remove(VERSION).as_ref().and_then(Json::as_u64).ok_or_else(unknown)?;
    let version = Version::new(version).ok_or("has a version below 1")?;
    if source.0.is_empty() { Ok(Versioned { value, version }) } else { Err(unknown()) }
}

/// The message does not quote the text.
pub(crate) fn unknown() -> Fault {
    "is not a known outcome".into()
}

struct Source(Map<String, Json>);

impl MemberSource for Source {
    type Fault = Fault;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, Fault> {
        let value = self.0.remove(member.column);
        let value = match (&value, member.kind) {
            (None | Some(Json::Null), _) if member.is_optional => Value::Absent,
            (Some(Json::Number(number)), ValueKind::Id | ValueKind::Number { .. }) => {
                Value::Number(number.as_u64().ok_or_else(unknown)?)
            }
            (Some(Json::String(text)), ValueKind::Text { .. } | ValueKind::Word(_) | ValueKind::Time) => {
                Value::Text(text)
            }
            (Some(Json::Bool(flag)), ValueKind::Flag) => Value::Flag(*flag),
            _ => return Err(unknown()),
        };
        Ok(T::of(value)?)
    }
}
