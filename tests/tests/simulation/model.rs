//! The model: the correct state of the petstore, on plain values.

pub(crate) mod accounts;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod lists;
pub(crate) mod permits;
pub(crate) mod quotas;
pub(crate) mod retries;
pub(crate) mod rows;
pub(crate) mod shop;
pub(crate) mod webhooks;
