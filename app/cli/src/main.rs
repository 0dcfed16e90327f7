//! The petstore's one binary: `petstore` serves, its subcommands administer.

use std::process::ExitCode;

fn main() -> ExitCode {
    petstore_command::main()
}
