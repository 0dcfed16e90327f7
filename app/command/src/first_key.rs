//! The key of the first account: given by the owner, written to a file, or printed once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use petstore_domain::ApiKey;
use petstore_ports::Entropy;
use petstore_ports::api::{Administration, InitialKey};

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::files::MOUNTED;
use crate::files::sync_folder_of;
use crate::log::Log;
use crate::settings::{INITIAL_KEY_VARIABLE, value_of};
use crate::terminal::print_once;
use crate::text_file;

/// The account of the first key, which the service creates.
const OF_FIRST: &str = "`default` (Business plan)";

/// The source or destination of the first key.
pub(crate) enum FirstKey<'a> {
    /// The owner has given this key.
    Given(ApiKey),
    /// The key is written to this file.
    ToFile(&'a Path),
    /// The key is printed.
    ToShow,
}

impl<'a> FirstKey<'a> {
    /// Reads the key from the environment, or from the file to which a new key would be written.
    pub(crate) fn find(file: Option<&'a Path>) -> Result<Self, Failure> {
        if let Some(text) = value_of(INITIAL_KEY_VARIABLE) {
            let text = text.to_str();
            let text = text.ok_or_else(|| Failure::usage(format!("{INITIAL_KEY_VARIABLE} is not UTF-8")))?;
            return Self::parse(text, INITIAL_KEY_VARIABLE);
        }
        let Some(file) = file else { return Ok(Self::ToShow) };
        if file == Path::new("-") {
            return Err(Failure::usage(
                "initial-key-file (-): expected a file; without that setting the key is printed on standard output",
            ));
        }
        if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            // Reading a pipe could block, and a second start could not read the pipe again.
            let file = file.display();
            return Err(Failure::usage(format!(
                "{file} is not a regular file: name a regular file for the key"
            )));
        }
        match text_file::read(file) {
            Ok(text) if text.trim().is_empty() => Ok(Self::ToFile(file)),
            Ok(text) => Self::parse(&text, &format!("the content of {}", file.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::ToFile(file)),
            Err(error) => Err(Failure::because(format!("{} cannot be read: {error}", file.display()))),
        }
    }

    fn parse(text: &str, what: &str) -> Result<Self, Failure> {
        ApiKey::parse(text.trim().as_bytes())
            .map(Self::Given)
            .map_err(|_| Failure::usage(format!("{what} is not a key: `petstore keys generate` makes one")))
    }

    /// Creates the first account of an empty store, with this key. Returns the key if it must be printed.
    pub(crate) async fn hand_out(
        self,
        administration: &dyn Administration,
        log: &Log,
    ) -> Result<Option<ApiKey>, Failure> {
        let is_wanted = !matches!(self, Self::ToShow);
        let written = if let Self::ToFile(file) = self { Some(file) } else { None };
        let given = match self {
            Self::Given(key) => Some(key),
            Self::ToFile(file) => {
                let accounts = administration.accounts(None, 1).await;
                let accounts = accounts.map_err(|error| Failure::because(error.report()))?;
                accounts.is_empty().then(|| new_key_in(file)).transpose()?
            }
            Self::ToShow => None,
        };
        let is_known = given.is_some();
        let made = administration.ensure_initial_key(given).await;
        let made = made.map_err(|failure| Failure::because(failure.report()))?;
        match made {
            InitialKey::NotNeeded { is_known } => {
                if is_wanted && !is_known {
                    log.info("first key: not created, because the store has accounts; `petstore keys create` creates \
                        a key");
                }
                Ok(None)
            }
            InitialKey::Made(_) if is_known => {
                if let Some(file) = written {
                    log.info(&format!(
                        "first key: written to {}, for the account {OF_FIRST}",
                        file.display()
                    ));
                }
                Ok(None)
            }
            InitialKey::Made(key) => Ok(Some(key)),
        }
    }
}

/// Prints a new key.
pub(crate) fn show(key: &ApiKey) -> Result<(), Failure> {
    const LOST: &str = "the first key was created but could not be shown: create another one with `petstore keys \
        create` on this data, and revoke the first";
    print_once(&format!("API key of the account {OF_FIRST}, shown this once:\n{}\n", key.reveal()))
        .map_err(|failure| Failure::because(format!("{}; {LOST}", failure.message)))
}

/// Writes the key to the file before the account is created, so that no account exists whose key could not be written.
/// After a crash between the two steps, the next start finds the key in the file.
fn new_key_in(file: &Path) -> Result<ApiKey, Failure> {
    let key = SystemEntropy.bits().map(ApiKey::from_entropy);
    let key = key.map_err(|error| Failure::because(error.report()))?;
    write_key(file, &key).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => {
                "; make its folder first, or name another file with --initial-key-file"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "; name a file in a folder that petstore may write with --initial-key-file"
            }
            _ => "",
        };
        Failure::because(format!("cannot write the key to {}: {error}{advice}", file.display()))
    })?;
    Ok(key)
}

fn write_key(file: &Path, key: &ApiKey) -> io::Result<()> {
    // An existing file would keep its mode, which may admit other users. So the file is replaced.
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return Err(io::Error::other(MOUNTED)),
        // Other errors occur again when the file is created.
        Ok(()) | Err(_) => {}
    }
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(written, "{}", key.reveal())?;
    // The account is stored after this step. Without the sync, a power cut could keep the account and lose the key's
    // file.
    written.sync_all()?;
    sync_folder_of(file)
}
