//! The name of the resource that a request is about, for messages.

use super::OperationCall;
use crate::wire::error::{ApiError, Code};
use crate::wire::faults::{FIELD_MAX, printable};
use crate::wire::route::decode;

impl OperationCall<'_> {
    /// Returns the resource that the path names, with its id as the client wrote it: `Pet 7`.
    #[cold]
    pub(super) fn subject(&self) -> String {
        let path = decode(self.parts.uri.path()).unwrap_or_default();
        let under = path.strip_prefix(&*self.settings().base_path).unwrap_or(&path);
        subject_of(under)
    }

    /// Returns the error for a resource that does not exist.
    #[cold]
    pub(super) fn not_found(&self) -> ApiError {
        ApiError::new(Code::NotFound, format!("{} does not exist.", self.subject()))
    }
}

/// Returns the resource that a decoded path under the base path names.
fn subject_of(path: &str) -> String {
    let (kind, id) = match path.trim_start_matches('/').split_once('/') {
        Some(("pets" | "inventory", id)) => ("Pet", id),
        Some(("categories", id)) => ("Category", id),
        Some(("store", rest)) => ("Order", rest.strip_prefix("orders/").unwrap_or(rest)),
        Some(("events", id)) => ("Event", id),
        Some(("webhooks", id)) => ("Webhook", id),
        _ => return "The resource".to_owned(),
    };
    let (id, rest) = id.split_once('/').unwrap_or((id, ""));
    let id = printable(id, FIELD_MAX);
    match rest.strip_prefix("deliveries/") {
        Some(event) => {
            let event = event.split('/').next().unwrap_or_default();
            format!("The delivery of {} by webhook {id}", printable(event, FIELD_MAX))
        }
        None => format!("{kind} {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_named_by_its_kind_and_id() {
        for (path, expected) in [
            ("/pets/7", "Pet 7"),
            ("/inventory/7", "Pet 7"),
            ("/inventory/7/adjustments", "Pet 7"),
            ("/categories/99999999999999999999", "Category 99999999999999999999"),
            ("/store/orders/7", "Order 7"),
            ("/events/evt_1", "Event evt_1"),
            ("/webhooks/whk_1", "Webhook whk_1"),
            ("/webhooks/whk_1/deliveries", "Webhook whk_1"),
            ("/webhooks/whk_1/deliveries/evt_1", "The delivery of evt_1 by webhook whk_1"),
            ("/webhooks/whk_1/deliveries/evt_1/redeliver", "The delivery of evt_1 by webhook whk_1"),
            ("/rate-limit", "The resource"),
        ] {
            assert_eq!(subject_of(path), expected);
        }
        assert_eq!(subject_of(&format!("/pets/{}", "9".repeat(300))), format!("Pet {}", "9".repeat(200)));
    }
}
