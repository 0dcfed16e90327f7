//! What the petstore must be, kept beside it on plain values.

pub(crate) mod accounts;
pub(crate) mod lists;
pub(crate) mod quotas;
pub(crate) mod retries;
pub(crate) mod rows;
pub(crate) mod shop;
