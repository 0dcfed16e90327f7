//! `petstore webhooks`: commands for the owners of receivers.

mod saved_request;
mod secret;
mod verify;

use clap::Subcommand;

pub(crate) use self::secret::SecretArgs;
use self::verify::VerifyArgs;
use crate::failure::Failure;

/// `petstore webhooks …`
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Check the signature of a request that a receiver has saved
    Verify(VerifyArgs),
}

impl WebhooksCommand {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Verify(args) => args.run(),
        }
    }
}
