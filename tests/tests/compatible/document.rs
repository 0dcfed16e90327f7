//! Parts of a document, and references between them.

use std::collections::BTreeMap;

use serde_json::Value;

/// The members of an object, which may be missing.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, member)| (name.as_str(), member))
}

/// The items of a list, which may be missing.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A part of a document.
#[derive(Clone, Copy)]
pub(super) struct Part<'d> {
    root: &'d Value,
    value: &'d Value,
}

impl<'d> Part<'d> {
    pub(super) fn root(root: &'d Value) -> Self {
        Self { root, value: root }
    }

    /// The value of this part.
    pub(super) fn value(self) -> &'d Value {
        self.value
    }

    /// Returns another part of the same document. If `value` is a reference, the part is the target of the reference.
    pub(super) fn at(self, value: &'d Value) -> Self {
        let Some(reference) = value.get("$ref") else { return Self { value, ..self } };
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        let target = self.root.pointer(pointer.expect("the document refers to itself alone"));
        self.at(target.unwrap_or_else(|| panic!("{reference} leads nowhere")))
    }

    /// A member, or null.
    pub(super) fn get(self, name: &str) -> Self {
        self.at(&self.value[name])
    }

    /// The members by their names.
    pub(super) fn members(self) -> BTreeMap<&'d str, Self> {
        members(self.value).map(|(name, member)| (name, self.at(member))).collect()
    }

    /// A string member, or an empty one.
    pub(super) fn word(self, name: &str) -> &'d str {
        self.value[name].as_str().unwrap_or_default()
    }

    /// Returns whether this flag of the part is set.
    pub(super) fn is(self, name: &str) -> bool {
        self.value[name] == true
    }

    /// The rules of a schema, with the rules of its `allOf`.
    pub(super) fn rules(self) -> Rules<'d> {
        let mut rules: Rules<'d> = members(self.value).filter(|(name, _)| *name != "allOf").collect();
        for part in items(&self.value["allOf"]) {
            for (name, rule) in self.at(part).rules() {
                let tells = matches!(name, "description" | "example");
                let former = rules.insert(name, rule);
                assert!(tells || former.is_none_or(|former| former == rule), "two rules for {name}");
            }
        }
        rules
    }
}

/// The keywords of a schema.
pub(super) type Rules<'d> = BTreeMap<&'d str, &'d Value>;
