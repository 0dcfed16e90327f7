//! A password: in a file, or in a variable.

use std::fmt::Display;
use std::path::Path;

use super::values::secret_in;
use crate::failure::Failure;
use crate::text_file::{self, FileBound};

/// Reads the password in the file of this setting.
pub(super) fn in_file(setting: &str, file: &Path) -> Result<String, Failure> {
    let fault = |why: &dyn Display| Failure::usage(format!("{setting} ({}): {why}", file.display()));
    let text = match text_file::read(file, FileBound::secret("the password alone")) {
        Err(error) if !has_folder(file) && !file.exists() => {
            return Err(Failure::usage(format!(
                "{setting}: {error}: expected the path of a file with the password; its value is not shown, because it may be \
                 the password"
            )));
        }
        read => read.map_err(|error| fault(&error))?,
    };
    // Only line breaks are removed. Editors put a line break at the end of the file, but spaces may belong to the
    // password.
    let password = text.trim_end_matches(['\r', '\n']);
    match password {
        "" => Err(fault(&"the file is empty: write the password to it")),
        lines if lines.contains('\n') => {
            Err(fault(&"the file has several lines: write only the password to it"))
        }
        password => Ok(password.to_owned()),
    }
}

/// Returns whether a path names a folder that exists. Otherwise it may be a password in place of a path.
fn has_folder(file: &Path) -> bool {
    file.parent().is_some_and(|folder| folder.parent().is_some() && folder.is_dir())
}

/// Returns the password in the first of these variables that is set; none if no variable is set.
pub(super) fn in_variables(names: &[&str]) -> Result<Option<String>, Failure> {
    let set = names.iter().find_map(|name| Some((name, secret_in(name)?)));
    let Some((name, value)) = set else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
}
