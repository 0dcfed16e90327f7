//! The paths under `/webhooks`.

use super::is_segment;

/// A resource under `/webhooks`.
///
/// The ids in the path are read by the operations and not kept here, because a resource is copied for every request of the
/// server, and two ids would double its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebhookResource {
    /// All webhooks of the account.
    All,
    One,
    /// The rotation of its secret.
    Rotation,
    /// A sample event for it.
    Test,
    /// The place at which its deliveries begin.
    Replay,
    Deliveries,
    /// One of its deliveries.
    Delivery,
    /// The repetition of a delivery.
    Redelivery,
}

/// The ids in a path, as the client wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WebhookPath<'p> {
    /// The id of the webhook; empty in the path of all webhooks.
    pub(crate) webhook: &'p str,
    /// The id of the event; empty in a path without one.
    pub(crate) event: &'p str,
}

impl WebhookResource {
    /// Returns the resource of a decoded path, and the ids in the path.
    pub(crate) fn find(path: &str) -> Option<(Self, WebhookPath<'_>)> {
        let rest = path.strip_prefix("/webhooks")?;
        if rest.is_empty() {
            return Some((Self::All, WebhookPath::default()));
        }
        let mut segments = rest.strip_prefix('/')?.split('/');
        let webhook = segments.next().filter(|segment| is_segment(segment))?;
        let (kind, event, verb) = (segments.next(), segments.next(), segments.next());
        let resource = match (kind, event, verb) {
            (None, ..) => Self::One,
            (Some("rotate"), None, _) => Self::Rotation,
            (Some("test"), None, _) => Self::Test,
            (Some("replay"), None, _) => Self::Replay,
            (Some("deliveries"), None, _) => Self::Deliveries,
            (Some("deliveries"), Some(_), None) => Self::Delivery,
            (Some("deliveries"), Some(_), Some("redeliver")) => Self::Redelivery,
            _ => return None,
        };
        let event = event.unwrap_or_default();
        let is_whole = segments.next().is_none() && (event.is_empty() == kind_has_no_event(resource));
        let is_valid = is_whole && (event.is_empty() || is_segment(event));
        is_valid.then_some((resource, WebhookPath { webhook, event }))
    }

    pub(super) const fn allow(self) -> &'static str {
        match self {
            Self::All => "GET, HEAD, POST, OPTIONS",
            Self::One => "GET, HEAD, PATCH, DELETE, OPTIONS",
            Self::Deliveries | Self::Delivery => "GET, HEAD, OPTIONS",
            Self::Rotation | Self::Test | Self::Replay | Self::Redelivery => "POST, OPTIONS",
        }
    }
}

/// Returns whether the path of a resource has no id of an event.
const fn kind_has_no_event(resource: WebhookResource) -> bool {
    !matches!(resource, WebhookResource::Delivery | WebhookResource::Redelivery)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_exactly() {
        let found =
            |path| WebhookResource::find(path).map(|(resource, ids)| (resource, ids.webhook, ids.event));
        for (path, resource, event) in [
            ("/webhooks/a", WebhookResource::One, ""),
            ("/webhooks/a/rotate", WebhookResource::Rotation, ""),
            ("/webhooks/a/test", WebhookResource::Test, ""),
            ("/webhooks/a/replay", WebhookResource::Replay, ""),
            ("/webhooks/a/deliveries", WebhookResource::Deliveries, ""),
            ("/webhooks/a/deliveries/b", WebhookResource::Delivery, "b"),
            ("/webhooks/a/deliveries/b/redeliver", WebhookResource::Redelivery, "b"),
        ] {
            assert_eq!(found(path), Some((resource, "a", event)), "{path}");
        }
        assert_eq!(found("/webhooks"), Some((WebhookResource::All, "", "")));
        for path in [
            "/webhooks/",
            "/webhooks/.",
            "/webhooks/..",
            "/webhooksx",
            "/webhooks/a/",
            "/webhooks//rotate",
            "/webhooks/a/rotate/",
            "/webhooks/a/rotate/b",
            "/webhooks/a/Rotate",
            "/webhooks/a/deliveries/",
            "/webhooks/a/deliveries/..",
            "/webhooks/a/deliveries//redeliver",
            "/webhooks/a/deliveries/b/",
            "/webhooks/a/deliveries/b/redeliver/",
            "/webhooks/a/deliveries/b/redeliver/c",
            "/webhooks/a/b",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
