//! `petstore webhooks verify`: the check of a saved request.

use std::path::PathBuf;

use clap::Args;
use petstore_ports::{Clock as _, SignatureVerdict, Signer as _};

use super::saved_request::SavedRequest;
use super::secret::{SecretArgs, signer};
use crate::environment::SystemClock;
use crate::failure::Failure;
use crate::terminal::print;
use crate::text_file::FileBound;

/// The maximum size of a request that is read.
const REQUEST_MAX: FileBound = FileBound { bytes: 16 << 20, content: "one request" };

/// The request, and the secret of its webhook.
#[derive(Debug, Args)]
#[command(
    after_help = "Reads a request from standard input: its headers, an empty line, and its body. With --header it reads the \
                  body alone.\nExit codes: 0 the signature is valid, 1 it is not, and the message says why, 2 usage."
)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    secret: SecretArgs,
    /// A header of the request, such as 'webhook-id: evt_…'; repeat it for each header
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// File to read instead of standard input
    #[arg(long, value_parser = crate::settings::expected::file(), value_name = "FILE")]
    file: Option<PathBuf>,
    /// Accept a right signature of any age, such as that of a request saved some time ago
    #[arg(long)]
    any_age: bool,
}

impl VerifyArgs {
    pub(super) fn run(self) -> Result<(), Failure> {
        let secret = self.secret.read()?.ok_or_else(|| {
            Failure::usage("a secret is needed: set PETSTORE_WEBHOOK_SECRET, or name a file that holds it with --secret-file")
        })?;
        let text = self.text()?;
        let request = if self.header.is_empty() {
            SavedRequest::parse(&text)
        } else {
            let mut request = SavedRequest::of(&[], text);
            for header in &self.header {
                request = request.and_then(|mut request| request.add(header).map(|()| request));
            }
            request
        };
        let request = request.map_err(Failure::usage)?;
        let signed = request.signed().map_err(Failure::because)?;
        match signer().verify(&[secret], signed, SystemClock.now()) {
            SignatureVerdict::Valid => print("valid\n"),
            SignatureVerdict::Stale { .. } | SignatureVerdict::Early { .. } if self.any_age => {
                print("valid\n")
            }
            verdict => Err(Failure::because(format!("invalid: {verdict}"))),
        }
    }

    fn text(&self) -> Result<Vec<u8>, Failure> {
        let read = match &self.file {
            Some(file) => REQUEST_MAX.read(file),
            None => REQUEST_MAX.read_from(std::io::stdin().lock()),
        };
        let name =
            self.file.as_ref().map_or_else(|| "standard input".into(), |file| file.display().to_string());
        read.map_err(|error| Failure::usage(format!("{name} cannot be read: {error}")))
    }
}
