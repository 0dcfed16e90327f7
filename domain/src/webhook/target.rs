//! The target of a webhook: the form of its URL, and the addresses that it may lead to.

mod address_class;
mod exception;
mod policy;
mod url;

pub use address_class::AddressClass;
pub use exception::{TargetException, TargetExceptionError, TargetNetwork};
pub use policy::{TargetPolicy, TargetRefusal};
pub use url::{Target, TargetError, TargetHost};
