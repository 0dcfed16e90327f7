//! Paths. The resource that was found is formatted again and compared with the path.

use super::*;
use crate::counts::route_label::RouteLabel;
use crate::woven::both;

const WORDS: &[&str] = &[
    "/pets",
    "/categories",
    "/store/orders",
    "/inventory",
    "/adjustments",
    "/rate-limit",
    "/events",
    "/events/evt_0000000000000000000001",
    "/events/stream",
    "/",
    "//",
    ".",
    "..",
    "1",
    "0",
    "01",
    "9007199254740991",
    "9007199254740992",
    "+1",
    "%31",
    "%70ets",
    "%2F",
    "%2e",
    "%",
    "%zz",
    "%25",
    "%ff",
    "%c3%a9",
    "x",
    "é",
    "s",
    "/store",
    "/webhooks",
    "whk_0000000000000000000001",
    "/rotate",
    "/deliveries",
    "/redeliver",
    " ",
];

#[test]
fn a_path_names_the_resource_that_it_is_formatted_from() {
    bolero::check!(name = "path").for_each(|input| {
        both(input, WORDS, |path| {
            let Ok(path) = std::str::from_utf8(path) else { return };
            let Some(decoded) = decode(path) else { return };
            // A second decoder must agree. It decodes queries, so the path is passed to it as the name of a parameter.
            if !path.contains(['&', '=', '+']) && !path.is_empty() {
                assert_eq!(form_urlencoded::parse(path.as_bytes()).next().unwrap().0, decoded);
            }
            assert_eq!(decoded.matches('/').count(), path.matches('/').count());
            let Some(resource) = Resource::find(&decoded) else { return };
            let id = match resource {
                Resource::Pets
                | Resource::Categories
                | Resource::Orders
                | Resource::Inventory
                | Resource::Events
                | Resource::EventStream
                | Resource::RateLimit => {
                    return assert_eq!(RouteLabel::of(&resource).template(), decoded);
                }
                Resource::Webhooks(_) => {
                    let (_, ids) = WebhookResource::find(&decoded).unwrap();
                    let template = RouteLabel::of(&resource).template();
                    let filled = template.replace("{webhookId}", ids.webhook).replace("{eventId}", ids.event);
                    return assert_eq!(filled, decoded);
                }
                Resource::Pet(id) | Resource::Item(id) | Resource::Adjustments(id) => id.map(PetId::get),
                Resource::Category(id) => id.map(CategoryId::get),
                Resource::Order(id) => id.map(OrderId::get),
                Resource::Event(id) => {
                    let segment = decoded.strip_prefix("/events/").unwrap();
                    assert!(!segment.contains('/') && !["", ".", ".."].contains(&segment), "{segment}");
                    return assert!(id.is_err() || id.unwrap().to_string() == segment);
                }
            };
            let (before, after) = RouteLabel::of(&resource).template().split_once('{').unwrap();
            let (_, after) = after.split_once('}').unwrap();
            let segment = decoded.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap();
            assert!(!segment.contains('/') && !["", ".", ".."].contains(&segment), "{segment}");
            assert_eq!(PetId::parse(segment).map(PetId::get), id);
            assert!(id.is_err() || id.unwrap().to_string() == segment);
        });
    });
}
