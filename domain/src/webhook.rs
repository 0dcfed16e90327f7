//! Webhooks: where events are sent to.

mod target;

pub use target::{
    AddressClass, Target, TargetError, TargetException, TargetExceptionError, TargetHost, TargetNetwork,
    TargetPolicy, TargetRefusal,
};
