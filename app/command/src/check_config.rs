//! `petstore check-config`: what would be in force, and where each value comes from.

use crate::Failure;
use crate::settings::Loaded;
use crate::table::{Table, show};

/// Prints every setting with its value and its origin. Wrong ones have ended the command before.
pub(crate) fn check_config(loaded: &Loaded) -> Result<(), Failure> {
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for setting in loaded.in_force() {
        let value = setting.shown().to_owned();
        table.row([setting.key, value, setting.origin]);
    }
    show(&table)
}
