//! `petstore check-config`: the settings that would be in force, and the origin of each value.

use std::path::Path;
use std::{fs, io};

use crate::failure::Failure;
use crate::first_key::FirstKey;
use crate::serve::Inputs;
use crate::settings::{Loaded, ServeArgs};
use crate::table::{Table, show};
use crate::terminal::notify;

/// Prints every setting with its value and its origin. Also checks the files that a start would read: the certificate,
/// the first key, the path of the admin socket.
pub(crate) fn check_config(args: &ServeArgs, loaded: &Loaded) -> Result<(), Failure> {
    let Inputs { warning, first_key, .. } = Inputs::read(args, loaded)?;
    if let FirstKey::ToFile(file) = first_key
        && !has_folder(file)
    {
        // On a store that already has accounts a start would succeed. To know that, this command would have to open the
        // store.
        let setting = loaded.named("initial-key-file");
        return Err(Failure::usage(format!(
            "{setting}: the folder does not exist, so a first key cannot be written: make the folder first"
        )));
    }
    if let Some(warning) = warning {
        notify(&format!("warning: {warning}"));
    }
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for setting in loaded.in_force() {
        let value = setting.shown().to_owned();
        table.row([setting.key, value, setting.origin]);
    }
    show(&table)
}

/// Returns whether the folder of a file may exist. A folder that this user may not see counts as existing, because the
/// server may run as a user that sees it.
fn has_folder(file: &Path) -> bool {
    let found = std::path::absolute(file).ok().and_then(|file| file.parent().map(fs::metadata));
    match found {
        Some(Ok(found)) => found.is_dir(),
        Some(Err(error)) => error.kind() == io::ErrorKind::PermissionDenied,
        None => false,
    }
}
