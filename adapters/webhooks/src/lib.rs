//! Webhooks over HTTP: a [`Courier`](petstore_ports::Courier) that posts events, and a
//! [`Signer`](petstore_ports::Signer) that signs them by Standard Webhooks.
//!
//! The URL of a webhook is chosen by a client, so the courier trusts nothing about its receiver. It resolves a name once for
//! each attempt, judges every address, and connects to a judged address. It follows no redirect, uses no proxy, keeps no
//! cookies and takes no compressed body, and it bounds the time and the memory of each attempt.
//!
//! There is no schedule here: an attempt that fails is reported, and the caller decides when the next one is made.

mod courier;
mod signing;

pub use courier::{CourierLimits, HttpCourier, Resolver, SystemResolver};
pub use signing::{HmacSigner, MasterKey, MasterKeyError};
