//! Takes the members of a JSON object one by one, and collects every fault.
//!
//! ```text
//! let mut fields = Fields::of(body)?;
//! let name = fields.required("name", pet_name);
//! let status = fields.optional("status", status);
//! fields.read_only(&["id"]);
//! fields.finish(|| Some(NewPet { name: name?, status }))
//! ```
//!
//! Each call removes its member, so the members that are left at the end are unknown. After a fault `finish` returns
//! the error and does not use the values.

use petstore_domain::Patch;

use super::faults::{FieldFault, FieldFaults};
use super::json::{self, Members, Node};
use crate::wire::error::ApiError;

/// The members of an object that have not been taken yet.
pub(crate) struct Fields<'a> {
    members: Members<'a>,
    faults: FieldFaults,
    /// The path of the object within the body; empty for the body itself.
    within: String,
}

impl<'a> Fields<'a> {
    /// Parses a body that must be a JSON object.
    pub(crate) fn of(body: &'a [u8]) -> Result<Self, ApiError> {
        Self::whole(json::parse(body)?)
    }

    /// Parses a body like [`Fields::of`], and keeps the elements of arrays.
    pub(crate) fn with_arrays(body: &'a [u8]) -> Result<Self, ApiError> {
        Self::whole(json::parse_with_arrays(body)?)
    }

    /// Begins with an object that is nested in the body. `within` is the path of the object. In the faults of the
    /// object, this path stands before the names of members.
    pub(crate) fn nested(node: Node<'a>, within: String) -> Result<Self, ApiError> {
        let mut faults = FieldFaults::default();
        if let Node::Object(members) = node {
            return Ok(Self { members, faults, within });
        }
        faults.add(&within, &FieldFault::new("invalid_type", "must be an object"));
        Err(faults.of_body())
    }

    fn whole(node: Node<'a>) -> Result<Self, ApiError> {
        let mut faults = FieldFaults::default();
        if let Node::Object(members) = node {
            return Ok(Self { members, faults, within: String::new() });
        }
        faults.add_whole("invalid_type", "The body must be a JSON object.");
        Err(faults.of_body())
    }

    /// Takes a required member.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        judge: impl FnOnce(&Node<'a>) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let node = self.take(name);
        if node.is_none() {
            self.refuse(name, &FieldFault::new("required", "is required"));
        }
        self.judge(name, &node?, judge)
    }

    /// Takes a member that may be absent, but not null.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        judge: impl FnOnce(&Node<'a>) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let node = self.take(name)?;
        self.judge(name, &node, judge)
    }

    /// Takes a member of a merge patch. The value null deletes the member.
    pub(crate) fn deletable<T>(
        &mut self,
        name: &str,
        judge: impl FnOnce(&Node<'a>) -> Result<T, FieldFault>,
    ) -> Patch<T> {
        match self.take(name) {
            None => Patch::Keep,
            Some(Node::Null) => Patch::Clear,
            Some(node) => self.judge(name, &node, judge).map_or(Patch::Keep, Patch::Set),
        }
    }

    /// Refuses members of the resource that the request cannot set.
    pub(crate) fn read_only(&mut self, names: &[&str]) {
        for name in names {
            if self.take(name).is_some() {
                self.refuse(name, &FieldFault::new("read_only", "is read-only"));
            }
        }
    }

    /// Returns the value that `make` makes of the members, or the error if any fault was found.
    pub(crate) fn finish<T>(mut self, make: impl FnOnce() -> Option<T>) -> Result<T, ApiError> {
        for (name, _) in std::mem::take(&mut self.members) {
            self.refuse(&name, &FieldFault::new("unknown_member", "is not a member of this resource"));
        }
        match make() {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(self.faults.of_body()),
        }
    }

    /// Adds a fault of a member, or of the object itself if the name is empty.
    pub(crate) fn refuse(&mut self, name: &str, fault: &FieldFault) {
        match (&*self.within, name) {
            ("", name) => self.faults.add(name, fault),
            (within, "") => self.faults.add(within, fault),
            (within, name) => self.faults.add(&format!("{within}.{name}"), fault),
        }
    }

    /// Adds the fault that at least one of several members is required, unless there are other faults.
    pub(crate) fn require_one(&mut self, message: &'static str) {
        if self.is_sound() {
            self.faults.add_whole("required", message);
        }
    }

    /// Adds the faults of a nested object.
    pub(crate) fn take_in(&mut self, error: ApiError) {
        self.faults.take_in(error);
    }

    /// Returns whether no fault was found so far.
    pub(crate) const fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    fn take(&mut self, name: &str) -> Option<Node<'a>> {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.push(name.to_owned()));
        let index = self.members.iter().position(|(member, _)| member == name)?;
        Some(self.members.remove(index).1)
    }

    fn judge<T>(
        &mut self,
        name: &str,
        node: &Node<'a>,
        judge: impl FnOnce(&Node<'a>) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let judged = match node {
            Node::Null => Err(FieldFault::new("not_nullable", "cannot be null")),
            node => judge(node).map_err(|fault| match node {
                // A longer number was read as the nearest one of these, so its own digits are not known.
                Node::Integer(i64::MIN | i64::MAX) => fault,
                Node::Integer(number) => fault.of_value(&number.to_string()),
                // A text of a fixed set is short and no secret.
                Node::Text(text) if fault.is_of_a_set() => fault.of_value(text),
                _ => fault,
            }),
        };
        judged.map_err(|fault| self.refuse(name, &fault)).ok()
    }
}

/// The names of all members that were asked for on this thread.
#[cfg(test)]
mod names {
    use std::cell::RefCell;

    thread_local! {
        pub(super) static ASKED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns the names that a parser asks for.
    pub(crate) fn asked<T>(parse: impl FnOnce() -> T) -> Vec<String> {
        ASKED.take();
        drop(parse());
        ASKED.take()
    }
}

#[cfg(test)]
use names::ASKED;
#[cfg(test)]
pub(crate) use names::asked;

/// Parses a string.
pub(crate) fn text<'n>(node: &'n Node<'_>) -> Result<&'n str, FieldFault> {
    match node {
        Node::Text(text) => Ok(text),
        _ => Err(FieldFault::new("invalid_type", "must be a string")),
    }
}

/// Parses a number without fraction and exponent.
pub(crate) fn integer(node: &Node<'_>) -> Result<i64, FieldFault> {
    match node {
        Node::Integer(number) => Ok(*number),
        Node::Number => {
            Err(FieldFault::new("invalid_type", "must be an integer without fraction or exponent"))
        }
        _ => Err(FieldFault::new("invalid_type", "must be an integer")),
    }
}

/// Parses `true` or `false`.
pub(crate) fn boolean(node: &Node<'_>) -> Result<bool, FieldFault> {
    match node {
        Node::Bool(value) => Ok(*value),
        _ => Err(FieldFault::new("invalid_type", "must be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Code;

    fn found(body: &str) -> Vec<(String, &'static str)> {
        let mut fields = Fields::of(body.as_bytes()).expect("an object");
        let word = fields.required("word", |node| text(node).map(str::to_owned));
        let number = fields.optional("number", integer);
        let _flag = fields.deletable("flag", boolean);
        fields.read_only(&["id"]);
        let Err(error) = fields.finish(|| Some((word?, number))) else { return Vec::new() };
        assert_eq!(error.code, Code::ValidationFailed);
        error.details.into_iter().map(|detail| (detail.field, detail.code)).collect()
    }

    #[test]
    fn every_fault_is_collected_in_the_order_of_the_calls() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            (r#"{"word":"x"}"#, &[]),
            (r#"{"word":"x","number":1,"flag":null}"#, &[]),
            ("{}", &[("word", "required")]),
            (r#"{"word":null,"number":null}"#, &[("word", "not_nullable"), ("number", "not_nullable")]),
            (
                r#"{"b":1,"a":{},"id":null,"flag":"true","number":1.0,"word":1}"#,
                &[
                    ("word", "invalid_type"),
                    ("number", "invalid_type"),
                    ("flag", "invalid_type"),
                    ("id", "read_only"),
                    ("b", "unknown_member"),
                    ("a", "unknown_member"),
                ],
            ),
            (r#"{"word":"x","number":1e999}"#, &[("number", "invalid_type")]),
            (
                r#"{"word":"x","Word":"x"," word":"x"}"#,
                &[("Word", "unknown_member"), (" word", "unknown_member")],
            ),
        ];
        for (body, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(field, code)| ((*field).to_owned(), *code)).collect();
            assert_eq!(found(body), expected, "{body}");
        }
    }

    #[test]
    fn a_message_repeats_a_number_only_as_it_was_sent() {
        for (number, expected) in [
            ("11", "number must be between 1 and 10; it is 11."),
            ("99999999999999999999", "number must be between 1 and 10."),
            ("-99999999999999999999", "number must be between 1 and 10."),
        ] {
            let body = format!(r#"{{"number":{number}}}"#);
            let mut fields = Fields::of(body.as_bytes()).expect("an object");
            let refused = FieldFault::new("out_of_range", "must be between 1 and 10");
            let taken = fields.required("number", |_| Err::<(), _>(refused));
            let error = fields.finish(|| taken).expect_err("refused");
            assert_eq!(error.details[0].message, expected);
        }
    }

    #[test]
    fn a_body_that_is_not_an_object_has_a_fault_without_a_field() {
        for body in ["null", "[]", "1", "1e999", "\"{}\"", "true"] {
            let error = Fields::of(body.as_bytes()).err().expect("refused");
            assert_eq!(error.code, Code::ValidationFailed, "{body}");
            assert_eq!((error.details[0].field.as_str(), error.details[0].code), ("", "invalid_type"));
        }
    }
}
