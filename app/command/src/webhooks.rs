//! `petstore webhooks`: commands for operators, and for the owners of receivers.

mod operator;
mod saved_request;
mod secret;
mod verify;

use std::path::PathBuf;

use clap::Subcommand;

use self::operator::{TargetArgs, WebhookArgs};
pub(crate) use self::secret::SecretArgs;
use self::verify::VerifyArgs;
use crate::failure::Failure;
use crate::keys::StoreTarget;

/// `petstore webhooks …`
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List the webhooks of all accounts
    List(TargetArgs),
    /// Show one webhook
    Show(WebhookArgs),
    /// Disable a webhook: it gets no events until it is enabled
    Disable(WebhookArgs),
    /// Enable a webhook: it goes on after the last event that it got
    Enable(WebhookArgs),
    /// Give new secrets to webhooks whose master key is lost
    Rekey(TargetArgs),
    /// Check the signature of a request that a receiver has saved
    Verify(VerifyArgs),
}

/// Returns the number of webhooks of all accounts.
pub(crate) fn count(target: &StoreTarget) -> Result<u64, Failure> {
    Ok(operator::all(target)?.len() as u64)
}

impl WebhooksCommand {
    /// Runs the command with the settings file.
    pub(crate) fn run(self, config: Option<PathBuf>) -> Result<(), Failure> {
        match self {
            Self::List(args) => args.list(config),
            Self::Show(args) => args.show(config),
            Self::Disable(args) => args.set_enabled(false, config),
            Self::Enable(args) => args.set_enabled(true, config),
            Self::Rekey(args) => args.rekey(config),
            Self::Verify(args) => args.run(),
        }
    }
}
