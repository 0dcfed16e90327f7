//! `petstore check-config`: what would be in force, and where each value comes from.

use crate::Failure;
use crate::serve::Inputs;
use crate::settings::{Loaded, ServeArgs};
use crate::table::{Table, show};

/// Prints every setting with its value and its origin. Wrong ones have ended the command before; a certificate or a first
/// key that would end a start does so here.
pub(crate) fn check_config(args: &ServeArgs, loaded: &Loaded) -> Result<(), Failure> {
    Inputs::read(args, loaded)?;
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for setting in loaded.in_force() {
        let value = setting.shown().to_owned();
        table.row([setting.key, value, setting.origin]);
    }
    show(&table)
}
