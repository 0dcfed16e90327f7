//! The secret of a webhook, from a flag, a variable or a file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use petstore_ports::{Entropy as _, Signer as _, WebhookSecret};
use petstore_webhooks::HmacSigner;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::text_file::{self, FileBound};

/// The form of a secret.
const EXPECTED: &str = "expected a secret: whsec_ and base64 of 24 to 64 bytes";

/// The secret of a webhook.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretArgs {
    /// Secret of the webhook (whsec_…), which other users of the machine can read in the arguments; default: the one in
    /// PETSTORE_WEBHOOK_SECRET
    #[arg(long, env = "PETSTORE_WEBHOOK_SECRET", hide_env_values = true, value_parser = parse, value_name = "SECRET")]
    secret: Option<WebhookSecret>,
    /// File with the secret
    #[arg(long, value_parser = crate::settings::expected::file(), value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Returns the secret; the one in the file wins.
    pub(crate) fn read(&self) -> Result<Option<WebhookSecret>, Failure> {
        let Some(file) = &self.secret_file else { return Ok(self.secret.clone()) };
        let named =
            |why: &dyn std::fmt::Display| Failure::usage(format!("--secret-file {}: {why}", file.display()));
        let text = text_file::read(file, FileBound::secret("the secret alone"));
        let text = text.map_err(|error| named(&error))?;
        parse(&text).map(Some).map_err(|why| named(&why))
    }

    /// Returns the secret. Without one, makes a new one.
    pub(crate) fn read_or_make(&self) -> Result<WebhookSecret, Failure> {
        if let Some(secret) = self.read()? {
            return Ok(secret);
        }
        let made = SystemEntropy.bits().and_then(|nonce| {
            let signer = signer();
            signer.prepare()?;
            Ok(signer.secret(&nonce, 1))
        });
        let made =
            made.map_err(|error| Failure::because(format!("cannot make a secret: {}", error.report())))?;
        made.ok_or_else(|| Failure::because("cannot make a secret"))
    }
}

/// A signer for one command.
pub(super) fn signer() -> HmacSigner {
    HmacSigner::in_memory(Arc::new(SystemEntropy))
}

fn parse(text: &str) -> Result<WebhookSecret, String> {
    signer().read_secret(text).ok_or_else(|| EXPECTED.to_owned())
}
