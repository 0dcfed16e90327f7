//! The place of the master key from which the secrets of webhooks are derived.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petstore_webhooks::HmacSigner;

use crate::environment::SystemEntropy;
use crate::settings::Db;

/// The end of the name of the file with the master key, which is beside the data file.
const KEY_FILE: &str = ".webhook-key";

/// Returns the signer with the master key of a store, or with the one in the file that an operator names. The key is not
/// read yet.
pub(crate) fn signer(named: Option<&Path>, db: &Db) -> HmacSigner {
    let entropy = Arc::new(SystemEntropy);
    match (named, db) {
        (Some(file), _) => HmacSigner::with_shared_file(file.to_owned(), entropy),
        (None, Db::Memory) => HmacSigner::in_memory(entropy),
        (None, Db::File(file)) => HmacSigner::with_own_file(beside(file), entropy),
        (None, Db::Postgres(_)) => HmacSigner::without_key(entropy),
    }
}

/// Returns the file with the master key of a data file, unless an operator names another one.
pub(crate) fn beside(data: &Path) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(KEY_FILE);
    name.into()
}
