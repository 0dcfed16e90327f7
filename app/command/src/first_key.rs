//! The key of the first account: given by the owner, written to a file, or printed once.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use petstore_domain::ApiKey;
use petstore_platform::create_private;
use petstore_ports::api::{self as ports, Administration, InitialKey};
use petstore_ports::{Entropy, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep};

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::files::MOUNTED;
use crate::files::sync_folder_of;
use crate::log::Log;
use crate::settings::{INITIAL_KEY_VARIABLE, value_of};
use crate::terminal::print_once;
use crate::text_file::{self, FileBound};

/// The account of the first key, which the service creates.
const OF_FIRST: &str = "`default` (Business plan)";

/// The time for which a start waits for the store before it gives up making the first key.
const STORE_WAIT: Duration = Duration::from_secs(30);

/// The pause between two calls of a store that has not answered.
const STORE_PAUSE: Duration = Duration::from_millis(250);

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
        match text_file::read(file, FileBound::secret("the key alone")) {
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
        let is_shown = matches!(self, Self::ToShow);
        let written = if let Self::ToFile(file) = self { Some(file) } else { None };
        let secret = match self {
            Self::Given(key) => Some(key),
            Self::ToFile(file) => {
                let accounts = patiently(async || administration.accounts(None, 1).await).await;
                let accounts = accounts.map_err(|error| Failure::because(error.report()))?;
                accounts.is_empty().then(|| new_key_in(file)).transpose()?
            }
            // The key is drawn here, so that a further attempt recognises the key of one whose answer came too late.
            Self::ToShow => Some(drawn()?),
        };
        let made = patiently(async || match administration.ensure_initial_key(secret).await {
            Err(ports::Failure::Store(error)) => Err(error),
            made => Ok(made),
        });
        let made = made.await.map_err(|error| Failure::because(error.report()))?;
        let made = made.map_err(|failure| Failure::because(failure.report()))?;
        match made {
            InitialKey::NotNeeded { is_known: true } if is_shown => Ok(secret),
            InitialKey::NotNeeded { is_known } => {
                if !is_shown && !is_known {
                    log.info("first key: not created, because the store has accounts; `petstore keys create` creates \
                        a key");
                }
                Ok(None)
            }
            InitialKey::Made(_) if !is_shown => {
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

/// Calls the store until it answers, for [`STORE_WAIT`] at most. A start is no request: on a busy machine, or before a busy
/// database, it waits for longer than a client would.
async fn patiently<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let until = Instant::now() + STORE_WAIT;
    loop {
        match call().await {
            Err(error) if error.kind() != StoreErrorKind::Corrupt && Instant::now() < until => {
                sleep(STORE_PAUSE).await;
            }
            answer => return answer,
        }
    }
}

fn drawn() -> Result<ApiKey, Failure> {
    let key = SystemEntropy.bits().map(ApiKey::from_entropy);
    key.map_err(|error| Failure::because(error.report()))
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
    let key = drawn()?;
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
    let mut written = create_private(file)?;
    writeln!(written, "{}", key.reveal())?;
    // The account is stored after this step. Without the sync, a power cut could keep the account and lose the key's
    // file.
    written.sync_all()?;
    sync_folder_of(file)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use clap::{Args as _, Command, FromArgMatches as _};
    use petstore_ports::{Transactor, Transition};
    use petstore_service::{Policy, Ports, Service};

    use super::*;
    use crate::environment::SystemClock;
    use crate::settings::ServeArgs;
    use crate::store::Backend;

    /// A store whose first answers come too late.
    struct Late {
        store: Arc<dyn Transactor>,
        /// The number of answers that still come too late.
        left: AtomicU32,
        /// True if these changes are made nevertheless.
        commits: bool,
    }

    #[async_trait]
    impl Transactor for Late {
        async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
            let is_late =
                self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if is_late.is_err() || self.commits {
                self.store.transact(transition).await?;
            }
            is_late.map_or(Ok(()), |_| Err(StoreError::indeterminate("the store did not answer in time")))
        }
    }

    fn log() -> Log {
        let matches = ServeArgs::augment_args(Command::new("petstore")).try_get_matches_from(["petstore"]);
        let args = ServeArgs::from_arg_matches(&matches.unwrap()).unwrap();
        Log::new(&args, Arc::new(SystemClock))
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_waits_for_a_busy_store_and_shows_the_key_that_was_made() {
        for commits in [false, true] {
            let ports = Backend::in_memory(1).ports(Arc::new(SystemClock), Arc::new(SystemEntropy));
            let late = Late { store: Arc::clone(&ports.transactor), left: AtomicU32::new(3), commits };
            let service = Service::new(Ports { transactor: Arc::new(late), ..ports }, Policy::DEFAULT);
            let shown = FirstKey::ToShow.hand_out(&service, &log()).await.unwrap();
            let known = service.ensure_initial_key(Some(shown.expect("a key is shown"))).await.unwrap();
            assert!(matches!(known, InitialKey::NotNeeded { is_known: true }), "{commits}: {known:?}");
            assert_eq!(service.keys(None, 10).await.unwrap().len(), 1, "{commits}");
            let again = FirstKey::ToShow.hand_out(&service, &log()).await.unwrap();
            assert!(again.is_none(), "{commits}: the store has an account");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_gives_up_on_a_store_that_does_not_answer() {
        let ports = Backend::in_memory(1).ports(Arc::new(SystemClock), Arc::new(SystemEntropy));
        let late =
            Late { store: Arc::clone(&ports.transactor), left: AtomicU32::new(u32::MAX), commits: false };
        let service = Service::new(Ports { transactor: Arc::new(late), ..ports }, Policy::DEFAULT);
        let begun = Instant::now();
        let failure = FirstKey::ToShow.hand_out(&service, &log()).await.unwrap_err();
        assert!(failure.message.contains("the store did not answer in time"), "{}", failure.message);
        let waited = begun.elapsed();
        assert!((STORE_WAIT..STORE_WAIT + 2 * STORE_PAUSE).contains(&waited), "{waited:?}");
    }
}
