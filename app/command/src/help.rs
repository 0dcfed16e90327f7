//! An example at the end of each command's help.

use clap::Command;

/// The example of each command, by the command's path without `petstore`.
const EXAMPLES: &[(&str, &str)] = &[
    ("", "petstore --demo 1000 --listen 9090"),
    ("serve", "petstore serve --listen 0.0.0.0:8080 --db /var/lib/petstore/petstore.db"),
    ("keys", "petstore keys create --account zoo --plan pro"),
    ("keys create", "petstore keys create --account zoo --plan pro --label ci --expires 30d"),
    ("keys list", "petstore keys list --account zoo"),
    ("keys show", "petstore keys show 3"),
    ("keys update", "petstore keys update 3 --scopes read --expires never"),
    ("keys rotate", "petstore keys rotate 3 --overlap 2h"),
    ("keys revoke", "petstore keys revoke 3"),
    ("keys unban", "petstore keys unban 3"),
    ("keys copy", "petstore keys copy petstore.db --db postgres://petstore@db1.example/petstore"),
    ("keys generate", "petstore keys generate >first-key"),
    ("accounts", "petstore accounts list"),
    ("accounts list", "petstore accounts list --json"),
    ("accounts show", "petstore accounts show zoo"),
    ("accounts update", "petstore accounts update zoo --minute 5000 --day 1000000"),
    ("nodes", "petstore nodes --db postgres://petstore@db1.example/petstore"),
    ("events", "petstore events tail --types 'order.*'"),
    (
        "events tail",
        "petstore events tail --types 'order.*,pet.created' --json --server https://petstore.example/v1",
    ),
    ("listen", "petstore listen --types 'order.*' --to http://localhost:3000/hook"),
    ("webhooks", "petstore webhooks verify --secret-file secret --file request"),
    ("webhooks list", "petstore webhooks list --json"),
    ("webhooks show", "petstore webhooks show whk_4GzozDqipuZAzAldp7sbGU"),
    ("webhooks disable", "petstore webhooks disable whk_4GzozDqipuZAzAldp7sbGU"),
    ("webhooks enable", "petstore webhooks enable whk_4GzozDqipuZAzAldp7sbGU"),
    ("webhooks rekey", "petstore webhooks rekey"),
    ("webhooks verify", "petstore webhooks verify --secret-file secret --file request"),
    ("sandbox", "petstore sandbox report --key pet_4fW1kTqZ"),
    ("sandbox report", "petstore sandbox report --key pet_4fW1kTqZ --url http://127.0.0.1:8080"),
    ("exam", "petstore exam --report exam.xml -- python client.py"),
    ("import", "petstore import shop.ndjson --db new.db"),
    ("export", "petstore export - | gzip >shop.ndjson.gz"),
    ("backup", "petstore backup copy.db"),
    ("new-epoch", "petstore new-epoch postgres://petstore@db1.example/petstore"),
    ("reload", "petstore reload --db /var/lib/petstore/petstore.db"),
    ("check-config", "petstore check-config --config petstore.toml"),
    ("settings", "petstore settings --sample >petstore.toml"),
    ("openapi", "petstore openapi >openapi.yaml"),
    ("healthcheck", "petstore healthcheck --listen 127.0.0.1:8080"),
    ("completions", "petstore completions bash >/etc/bash_completion.d/petstore"),
    ("man", "petstore man --into /usr/local/share/man/man1"),
];

/// Adds an example to the end of the help of each command and subcommand.
pub(crate) fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, example)| add(command, path, example))
}

fn add(command: Command, path: &str, example: &'static str) -> Command {
    if path.is_empty() {
        let before = command.get_after_help().map(|before| format!("{before}\n")).unwrap_or_default();
        return command.after_help(format!("{before}Example: {example}"));
    }
    let (name, rest) = path.split_once(' ').unwrap_or((path, ""));
    command.mut_subcommand(name, |subcommand| add(subcommand, rest, example))
}

#[cfg(test)]
mod tests {
    /// Collects every command by its path, with the end of its help.
    fn ends(command: &clap::Command, path: &str, found: &mut Vec<(String, String)>) {
        let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        found.push((path.trim().to_owned(), end));
        for subcommand in command.get_subcommands() {
            ends(subcommand, &format!("{path} {}", subcommand.get_name()), found);
        }
    }

    #[test]
    fn each_command_has_a_valid_example_of_that_command() {
        let mut found = vec![];
        ends(&crate::cli::command(), "", &mut found);
        assert!(found.len() > 20, "{found:?}");
        for (path, end) in found {
            let example = end.lines().find_map(|line| line.strip_prefix("Example: "));
            let example = example.unwrap_or_else(|| panic!("{path:?} has no example: {end}"));
            let words =
                example.split_whitespace().take_while(|word| !word.starts_with(['>', '|'])).map(|word| {
                    let quoted = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
                    // Some shells refuse a pattern that no file matches.
                    assert!(
                        quoted.is_some() || !word.contains(['*', '?', '[', '{', '~', '$', '\\']),
                        "{example}"
                    );
                    quoted.unwrap_or(word)
                });
            let matches =
                crate::cli::command().try_get_matches_from(words).unwrap_or_else(|why| panic!("{why}"));
            let (mut named, mut inner) = (vec![], &matches);
            while let Some((name, matches)) = inner.subcommand() {
                named.push(name);
                inner = matches;
            }
            let named = named.join(" ");
            // The example of a group is one of its commands.
            assert!(named == path || named.starts_with(&format!("{path} ")), "{path:?}: {example}");
        }
    }
}
