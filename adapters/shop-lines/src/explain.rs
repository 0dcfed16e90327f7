//! Explanations of faulty lines. Making an explanation is slow, but it is made for one line only: the faulty line that
//! ends an import.

use petstore_domain::{Category, InventoryItem, Member, Members, Order, Pet, ValueKind};
use serde_json::error::Category as Class;
use serde_json::{Error, Value};

use super::line::{CATEGORY, ITEM, ORDER, PET, in_order};

/// The kinds of lines.
const KINDS: [&str; 4] = [CATEGORY, PET, ITEM, ORDER];

/// The fields of a kind of line, in the order of its JSON.
fn fields(kind: &str) -> Option<Vec<&'static Member>> {
    fn of<R: Members>(kind: &str) -> Vec<&'static Member> {
        in_order::<R>(kind).map(|entry| &entry.member).collect()
    }
    Some(match kind {
        CATEGORY => of::<Category>(kind),
        PET => of::<Pet>(kind),
        ITEM => of::<InventoryItem>(kind),
        ORDER => of::<Order>(kind),
        _ => return None,
    })
}

/// Explains why a line was not accepted. `fault` is the error of the parser.
pub(super) fn explain(line: &[u8], fault: &Error) -> String {
    match serde_json::from_slice::<Value>(line) {
        Err(error) if error.classify() == Class::Eof && line.trim_ascii_start().starts_with(b"[") => {
            "a list begins: write one resource a line (`jq -c '.[]'` converts it)".to_owned()
        }
        Err(error) if error.classify() == Class::Eof && is_begun(line) => {
            "the line ends within a resource, as in pretty-printed JSON: write one resource a line (`jq -c .` \
             converts it)"
                .to_owned()
        }
        Err(error) if error.classify() == Class::Eof => "not JSON: the line ends too early".to_owned(),
        Err(error) => format!("not JSON: {} in column {}", without_place(&error), error.column()),
        // Some faults, such as a repeated field, do not show in the parsed value.
        Ok(value) => misshapen(&value).unwrap_or_else(|| without_place(fault)),
    }
}

/// Returns whether a line is only the beginning of an object or a list.
fn is_begun(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.len() <= 2 && line.starts_with(b"{")
        || line.starts_with(b"[")
        || line.ends_with(b"{")
        || line.ends_with(b",")
}

/// The parser's message without its position, which is always line 1.
fn without_place(error: &Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// Describes the first fault in the shape of a resource, if there is one.
fn misshapen(value: &Value) -> Option<String> {
    let kinds = KINDS.join(", ");
    let Some(object) = value.as_object() else {
        return Some(format!("expected an object with one of {kinds}, found {}", sort(value)));
    };
    let mut members = object.iter();
    let (Some((kind, resource)), None) = (members.next(), members.next()) else {
        return Some(format!("expected one of {kinds}, found {} names", object.len()));
    };
    let Some(fields) = fields(kind) else {
        return Some(format!("unknown kind {kind}; expected one of {kinds}"));
    };
    let Some(resource) = resource.as_object() else {
        return Some(format!("{kind} must be an object, but is {}", sort(resource)));
    };
    if let Some(unknown) = resource.keys().find(|name| fields.iter().all(|known| known.json != *name)) {
        let known = fields.iter().map(|known| known.json).collect::<Vec<_>>().join(", ");
        return Some(format!("{kind} has no field {unknown}; its fields are {known}"));
    }
    fields.iter().find_map(|member| match resource.get(member.json) {
        None if member.is_optional => None,
        None => Some(format!("{kind} lacks {}", member.json)),
        Some(value) => refused(member, value).map(|why| format!("{} of {kind} {why}", member.json)),
    })
}

/// Describes why a field cannot hold a value. Null counts as absent.
fn refused(member: &Member, value: &Value) -> Option<String> {
    let (fits, wanted) = match member.kind {
        ValueKind::Text { .. } | ValueKind::Time => (value.is_string(), "a text".to_owned()),
        ValueKind::Id | ValueKind::Number { .. } => (value.is_u64(), "a whole number".to_owned()),
        ValueKind::Word(words) => (words.iter().any(|word| value == word), alternatives(words)),
        ValueKind::Flag => (value.is_boolean(), "true or false".to_owned()),
    };
    let fits = fits || member.is_optional && value.is_null();
    (!fits).then(|| format!("must be {wanted}, but is {}", sort(value)))
}

/// Words as a sentence has them: with commas, and with `or` before the last one.
fn alternatives(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Describes the type of a value.
fn sort(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use petstore_memory::MemoryStore;

    use super::super::*;
    use super::{KINDS, fields};
    use crate::fixture::{REFUSED, unwatched};

    fn refused(line: &str) -> String {
        let lines = format!("{{\"category\":{{\"name\":\"Rabbits\",\"id\":1}}}}\n{line}\n");
        match import(&MemoryStore::new(), lines.as_bytes(), End::OfInput, REFUSED, &unwatched()) {
            Err(ImportFailure::Nothing(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn faulty_lines_are_explained() {
        let cases = [
            ("\n{}", "empty line: each line must be one resource"),
            (" \r\n\n{}", "empty line: each line must be one resource"),
            (
                "{",
                "the line ends within a resource, as in pretty-printed JSON: write one resource a line (`jq -c .` \
                    converts it)",
            ),
            ("[", "a list begins: write one resource a line (`jq -c '.[]'` converts it)"),
            ("{\"pet\":", "not JSON: the line ends too early"),
            ("{'pet':1}", "not JSON: key must be a string in column 2"),
            ("id,name", "not JSON: expected value in column 1"),
            ("[1]", "expected an object with one of category, pet, inventoryItem, order, found a list"),
            ("{}", "expected one of category, pet, inventoryItem, order, found 0 names"),
            ("{\"dog\":{}}", "unknown kind dog; expected one of category, pet, inventoryItem, order"),
            ("{\"pet\":7}", "pet must be an object, but is 7"),
            (
                "{\"category\":{\"name\":\"A\",\"id\":2,\"colour\":1}}",
                "category has no field colour; its fields are name, description, id",
            ),
            ("{\"category\":{\"id\":2}}", "category lacks name"),
            (
                "{\"category\":{\"name\":\"A\",\"id\":\"2\"}}",
                "id of category must be a whole number, but is \"2\"",
            ),
            ("{\"category\":{\"name\":\"A\",\"id\":-2}}", "id of category must be a whole number, but is -2"),
            ("{\"category\":{\"name\":null,\"id\":2}}", "name of category must be a text, but is null"),
            (
                "{\"pet\":{\"name\":\"A\",\"categoryId\":1,\"status\":\"gone\",\"id\":1}}",
                "status of pet must be available, pending or sold, but is \"gone\"",
            ),
            (
                "{\"order\":{\"id\":1,\"petId\":1,\"quantity\":1.5,\"complete\":true}}",
                "quantity of order must be a whole number, but is 1.5",
            ),
            (
                "{\"order\":{\"id\":1,\"petId\":1,\"quantity\":1,\"complete\":\"yes\"}}",
                "complete of order must be true or false, but is \"yes\"",
            ),
            ("{\"category\":{\"name\":\"A\",\"id\":2,\"id\":3}}", "duplicate field `id`"),
        ];
        for (line, why) in cases {
            assert_eq!(refused(line), format!("line 2: {why}"));
        }
    }

    #[test]
    fn samples_with_all_members_are_imported_and_exported_unchanged() {
        use petstore_domain::{Category, Member, Order, Pet, Sample, ValueKind, sample_by};

        fn resource<R: petstore_domain::Members>(of: Sample) -> R {
            // An order is complete, so that no pet has its units. The highest id is that of each store.
            sample_by(|member: &Member| match (member.kind, member.json) {
                (ValueKind::Id, _) => Sample::Smallest,
                (_, "complete") => Sample::Fullest,
                _ => of,
            })
        }
        for of in Sample::ALL {
            let (category, pet, order): (Category, Pet, Order) = (resource(of), resource(of), resource(of));
            let stock = petstore_domain::PetRecord::new(pet.id, pet.clone().into());
            let mut lines = Vec::new();
            for line in [
                serde_json::to_vec(&super::super::line::Written { kind: "category", resource: &category }),
                serde_json::to_vec(&super::super::line::Written { kind: "pet", resource: &pet }),
                serde_json::to_vec(&super::super::line::Written {
                    kind: "inventoryItem",
                    resource: &stock.item(),
                }),
                serde_json::to_vec(&super::super::line::Written { kind: "order", resource: &order }),
            ] {
                lines.extend(line.unwrap());
                lines.push(b'\n');
            }
            let store = MemoryStore::new();
            let done = import(&store, &*lines, End::OfInput, REFUSED, &unwatched());
            assert_eq!(done.map(|done| done.lines), Ok(4), "{of:?}");
            let mut exported = Vec::new();
            export(&store, &mut exported).unwrap();
            assert_eq!(String::from_utf8(exported), String::from_utf8(lines));
        }
    }

    #[test]
    fn the_known_fields_are_those_of_an_export() {
        let lines = include_str!("../../../docs/example-shop.ndjson");
        for kind in KINDS {
            let mut written: Vec<String> = vec![];
            for line in lines.lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                written.extend(line[kind].as_object().into_iter().flat_map(|one| one.keys().cloned()));
            }
            let mut known: Vec<_> =
                fields(kind).unwrap().iter().map(|member| member.json.to_owned()).collect();
            known.sort();
            written.sort();
            written.dedup();
            assert_eq!(written, known, "{kind}");
        }
    }
}
