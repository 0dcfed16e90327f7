//! The reason why an examination of a server failed.

use petstore_ports::StoreError;
use redis::RedisError;

use super::failure;
use crate::link::LinkError;
use crate::script;

#[derive(Debug)]
pub(super) struct ExaminationError {
    pub(super) error: StoreError,
    /// `true` if only a change of the configuration helps.
    pub(super) is_permanent: bool,
}

impl From<StoreError> for ExaminationError {
    fn from(error: StoreError) -> Self {
        Self { error, is_permanent: false }
    }
}

impl From<ExaminationError> for StoreError {
    fn from(failed: ExaminationError) -> Self {
        failed.error
    }
}

/// The error of a server that exceeds the time limit.
pub(super) fn late() -> ExaminationError {
    StoreError::unavailable("Redis does not answer in time").into()
}

/// The error of a refused command.
pub(super) fn refused(error: RedisError) -> ExaminationError {
    match failure::of_command(error).0 {
        LinkError::Failed(error) => error.into(),
        LinkError::NoScript => script::not_kept().into(),
    }
}
