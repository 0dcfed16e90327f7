//! The labels of routes: the templates by which requests are counted and logged.

use crate::wire::builtin_routes::BuiltinRoute;
use crate::wire::route::Resource;

/// The route templates of the contract.
const CONTRACT: [&str; 21] = [
    "/pets",
    "/pets/{petId}",
    "/categories",
    "/categories/{categoryId}",
    "/store/orders",
    "/store/orders/{orderId}",
    "/inventory",
    "/inventory/{petId}",
    "/inventory/{petId}/adjustments",
    "/rate-limit",
    "/events",
    "/events/{eventId}",
    "/events/stream",
    "/webhooks",
    "/webhooks/{webhookId}",
    "/webhooks/{webhookId}/rotate",
    "/webhooks/{webhookId}/test",
    "/webhooks/{webhookId}/replay",
    "/webhooks/{webhookId}/deliveries",
    "/webhooks/{webhookId}/deliveries/{eventId}",
    "/webhooks/{webhookId}/deliveries/{eventId}/redeliver",
];

/// The route templates: those of the contract, then the built-in ones, then one for all unknown paths.
pub(super) const ROUTES: [&str; CONTRACT.len() + BuiltinRoute::ALL.len() + 1] = {
    let mut routes = [UNKNOWN; CONTRACT.len() + BuiltinRoute::ALL.len() + 1];
    let (contract, rest) = routes.split_at_mut(CONTRACT.len());
    contract.copy_from_slice(&CONTRACT);
    let mut at = 0;
    while at < BuiltinRoute::ALL.len() {
        rest[at] = BuiltinRoute::ALL[at].template();
        at += 1;
    }
    routes
};

/// The label of unknown paths and methods. The path or method itself does not become a label, because a client can send
/// any text.
pub(crate) const UNKNOWN: &str = "-";

/// A route template, as an index into [`ROUTES`].
#[derive(Clone, Copy)]
pub(crate) struct RouteLabel(usize);

impl RouteLabel {
    /// The templates of the contract.
    pub(crate) const OF_CONTRACT: &[&'static str] = &CONTRACT;

    /// The label of unknown paths.
    pub(crate) const NONE: Self = Self(ROUTES.len() - 1);

    /// The label of an operation's path.
    pub(crate) const fn of(resource: &Resource) -> Self {
        Self(match resource {
            Resource::Pets => 0,
            Resource::Pet(_) => 1,
            Resource::Categories => 2,
            Resource::Category(_) => 3,
            Resource::Orders => 4,
            Resource::Order(_) => 5,
            Resource::Inventory => 6,
            Resource::Item(_) => 7,
            Resource::Adjustments(_) => 8,
            Resource::RateLimit => 9,
            Resource::Events => 10,
            Resource::Event(_) => 11,
            Resource::EventStream => 12,
            // The variants have the order of the templates.
            Resource::Webhooks(resource) => 13 + *resource as usize,
        })
    }

    /// The label of a path outside the base path.
    pub(crate) fn builtin(path: &str) -> Self {
        BuiltinRoute::find(path).map_or(Self::NONE, |one| Self(CONTRACT.len() + one as usize))
    }

    /// The index of the label in [`ROUTES`].
    pub(super) const fn index(self) -> usize {
        self.0
    }

    pub(crate) fn template(self) -> &'static str {
        ROUTES[self.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_its_own_label() {
        for template in RouteLabel::OF_CONTRACT {
            let path = ["{petId}", "{categoryId}", "{orderId}", "{webhookId}"]
                .iter()
                .fold((*template).to_owned(), |path, name| path.replace(name, "1"));
            assert_eq!(RouteLabel::of(&Resource::find(&path).unwrap()).template(), *template);
        }
        for one in BuiltinRoute::ALL {
            assert_eq!(RouteLabel::builtin(one.template()).template(), one.template());
        }
        assert_eq!(RouteLabel::builtin("/nowhere").template(), UNKNOWN);
    }
}
