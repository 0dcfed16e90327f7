//! Secrets and signatures.

mod body_forms;
mod master_key;
mod signature;
mod signer;
mod verify;

pub use master_key::{MasterKey, MasterKeyError};
pub use signer::HmacSigner;
