//! `petstore completions` and `petstore man`: generated from the declaration of the flags.

use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal::print;
use crate::version;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "petstore", &mut script);
    let script = String::from_utf8_lossy(&script);
    print(&if shell == Shell::Fish { for_fish(&script, &command) } else { script.into_owned() })
}

/// Corrects the fish script of clap, which does not complete positional values, nor the value of an option that comes
/// before the command.
fn for_fish(script: &str, command: &Command) -> String {
    const READS: &str =
        "    argparse -s (__fish_petstore_global_optspecs) -- $cmd 2>/dev/null\n    or return\n";
    const READS_UNFINISHED: &str = "    \
    if not argparse -s (__fish_petstore_global_optspecs) -- $cmd 2>/dev/null
        # The last option may wait for the value that is asked for.
        set -e cmd[-1]
        argparse -s (__fish_petstore_global_optspecs) -- $cmd 2>/dev/null
        or return
    end
";
    let of_arguments = command.get_subcommands().filter_map(|command| {
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        let values: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        let (name, values) = (command.get_name(), values.join(" "));
        (!values.is_empty()).then(|| {
            format!(
                "complete -c petstore -n \"__fish_petstore_using_subcommand {name}\" -f -a \"{values}\"\n"
            )
        })
    });
    iter::once(script.replace(READS, READS_UNFINISHED)).chain(of_arguments).collect()
}

/// The destination of the manual.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder instead of printing the first
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

impl ManArgs {
    /// Prints the page of `petstore`, or writes all pages.
    pub(crate) fn run(&self, command: Command) -> Result<(), Failure> {
        // The command `petstore help` gets no page, because it only prints the same help as the pages.
        let mut command = with_all_settings(command).disable_help_subcommand(true);
        command.build();
        let Some(folder) = &self.into else {
            let mut page = Vec::new();
            render(&command, &mut page).map_err(|error| Failure::because(error.to_string()))?;
            return print(&String::from_utf8_lossy(&page));
        };
        write_all(&command, folder)
            .map_err(|error| Failure::because(format!("{}: {error}", folder.display())))
    }
}

/// Shows the settings that `--help` omits.
fn with_all_settings(command: Command) -> Command {
    command.mut_args(|setting| setting.hide(false))
}

fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    render(command, &mut File::create(folder.join(format!("{name}.1")))?)?;
    let shown = |command: &&Command| !command.is_hide_set();
    command.get_subcommands().filter(shown).try_for_each(|command| write_all(command, folder))
}

fn render(command: &Command, output: &mut dyn Write) -> io::Result<()> {
    // The page has no date, so that builds are reproducible.
    let page = clap_mangen::Man::new(command.clone()).source(format!("petstore {}", version::NUMBER));
    page.render(output)
}
