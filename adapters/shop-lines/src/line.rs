//! The lines as they are written and read, by the tables of the members of their resources.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use petstore_domain::{
    Category, InventoryItem, Member, MemberOf, MemberSource, Members, Order, Pet, Value, ValueKind, ValueType,
};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The names of the kinds of lines.
pub(super) const CATEGORY: &str = "category";
pub(super) const PET: &str = "pet";
pub(super) const ITEM: &str = "inventoryItem";
pub(super) const ORDER: &str = "order";

/// The members of a resource in the order of its JSON: the id of a pet or category is the last one.
pub(super) fn in_order<R: Members>(kind: &str) -> impl Iterator<Item = &'static MemberOf<R>> {
    let is_last = |entry: &MemberOf<R>| entry.member.json == "id";
    let is_apart = kind == PET || kind == CATEGORY;
    let first = R::MEMBERS.iter().filter(move |entry| !(is_apart && is_last(entry)));
    first.chain(R::MEMBERS.iter().filter(move |entry| is_apart && is_last(entry)))
}

/// A line that is written.
pub(super) struct Written<'r, R> {
    pub(super) kind: &'static str,
    pub(super) resource: &'r R,
}

impl<R: Members> Serialize for Written<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.kind, &Resource(self))?;
        map.end()
    }
}

struct Resource<'w, 'r, R>(&'w Written<'r, R>);

impl<R: Members> Serialize for Resource<'_, '_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for entry in in_order::<R>(self.0.kind) {
            match (entry.get)(self.0.resource) {
                Value::Absent => {}
                Value::Number(number) => map.serialize_entry(entry.member.json, &number)?,
                Value::Text(text) | Value::Word(text) => map.serialize_entry(entry.member.json, text)?,
                Value::Time(time) => map.serialize_entry(entry.member.json, &time.to_string())?,
                Value::Flag(flag) => map.serialize_entry(entry.member.json, &flag)?,
            }
        }
        map.end()
    }
}

/// A line that is read. Its values have the right types, but may be out of their ranges.
pub(super) enum Line<'a> {
    Category(Taken<'a, Category>),
    Pet(Taken<'a, Pet>),
    Item(Taken<'a, InventoryItem>),
    Order(Taken<'a, Order>),
}

impl<'a> Deserialize<'a> for Line<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kind;

        impl<'a> Visitor<'a> for Kind {
            type Value = Line<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one resource")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Line<'a>, A::Error> {
                let kind = map.next_key::<Scalar<'a>>()?;
                let line = match kind.as_ref().and_then(Scalar::text) {
                    Some(CATEGORY) => Line::Category(map.next_value()?),
                    Some(PET) => Line::Pet(map.next_value()?),
                    Some(ITEM) => Line::Item(map.next_value()?),
                    Some(ORDER) => Line::Order(map.next_value()?),
                    _ => return Err(A::Error::custom("unknown kind")),
                };
                match map.next_key::<Scalar<'a>>()? {
                    None => Ok(line),
                    Some(_) => Err(A::Error::custom("two resources")),
                }
            }
        }

        deserializer.deserialize_map(Kind)
    }
}

/// The values of a resource, in the order of the table of its members.
pub(super) struct Taken<'a, R> {
    values: Vec<Option<Scalar<'a>>>,
    next: usize,
    resource: PhantomData<R>,
}

impl<R: Members> Taken<'_, R> {
    /// Makes the resource. An error names the member and the rule.
    pub(super) fn parse(mut self) -> Result<R, String> {
        R::read(&mut self)
    }
}

impl<R> MemberSource for Taken<'_, R> {
    type Fault = String;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, String> {
        let value = self.values.get_mut(self.next).and_then(Option::take);
        self.next += 1;
        let value = value.as_ref().map_or(Value::Absent, Scalar::value);
        T::of(value).map_err(|error| format!("{} {error}", member.json))
    }
}

impl<'a, R: Members> Deserialize<'a> for Taken<'a, R> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<R>(PhantomData<R>);

        impl<'a, R: Members> Visitor<'a> for Fields<R> {
            type Value = Taken<'a, R>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a resource")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Taken<'a, R>, A::Error> {
                let mut values: Vec<Option<Scalar<'a>>> = R::MEMBERS.iter().map(|_| None).collect();
                while let Some(name) = map.next_key::<Scalar<'a>>()? {
                    let place = R::MEMBERS.iter().position(|entry| name.text() == Some(entry.member.json));
                    let place = place.ok_or_else(|| A::Error::custom("unknown field"))?;
                    let member = &R::MEMBERS[place].member;
                    if values[place].is_some() {
                        return Err(A::Error::duplicate_field(member.json));
                    }
                    let value: Scalar<'a> = map.next_value()?;
                    if !value.fits(member) {
                        return Err(A::Error::custom("a value of another type"));
                    }
                    values[place] = Some(value);
                }
                for (entry, value) in R::MEMBERS.iter().zip(&values) {
                    if value.is_none() && !entry.member.is_optional {
                        return Err(A::Error::missing_field(entry.member.json));
                    }
                }
                Ok(Taken { values, next: 0, resource: PhantomData })
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// A value, or the name of a member. It borrows the line where the text needs no change.
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(u64),
    /// A number below 0, which is out of every range.
    Negative,
    Flag(bool),
    Null,
}

impl Scalar<'_> {
    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::Text(text),
            Self::Number(number) => Value::Number(*number),
            Self::Negative => Value::Number(0),
            Self::Flag(flag) => Value::Flag(*flag),
            Self::Null => Value::Absent,
        }
    }

    fn fits(&self, member: &Member) -> bool {
        match (self, member.kind) {
            (Self::Null, _) => member.is_optional,
            (Self::Text(_), ValueKind::Text { .. } | ValueKind::Time)
            | (Self::Number(_), ValueKind::Id | ValueKind::Number { .. })
            | (Self::Flag(_), ValueKind::Flag) => true,
            // 0 is out of range, too.
            (Self::Negative, ValueKind::Number { min, .. }) => min > 0,
            (Self::Text(text), ValueKind::Word(words)) => words.contains(&&**text),
            _ => false,
        }
    }
}

impl<'a> Deserialize<'a> for Scalar<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'a> Visitor<'a> for Any {
            type Value = Scalar<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true, false or null")
            }

            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Scalar<'a>, E> {
                Ok(Scalar::Text(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar<'a>, E> {
                Ok(Scalar::Text(text.to_owned().into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar<'a>, E> {
                Ok(Scalar::Number(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar<'a>, E> {
                Ok(u64::try_from(number).map_or(Scalar::Negative, Scalar::Number))
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Scalar<'a>, E> {
                Ok(Scalar::Flag(flag))
            }

            fn visit_unit<E>(self) -> Result<Scalar<'a>, E> {
                Ok(Scalar::Null)
            }
        }

        deserializer.deserialize_any(Any)
    }
}
