//! The table of all settings as text, as a sample file and as Markdown.

use std::fmt::Write;

use clap::Arg;

use super::table::{key, table};

/// The form of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For a terminal.
    Text,
    /// A settings file with every setting at its default, commented out.
    Sample,
    /// For the documentation.
    Markdown,
}

/// The table of all settings.
pub(crate) fn reference(form: Form) -> String {
    let table = table();
    let mut groups: Vec<(&str, Vec<&Arg>)> = vec![];
    for setting in table.get_arguments() {
        let group = setting.get_help_heading().unwrap_or("Other");
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, settings)) => settings.push(setting),
            None => groups.push((group, vec![setting])),
        }
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = match form {
        Form::Text => as_text(&mut text, &groups),
        Form::Sample => as_sample(&mut text, &groups),
        Form::Markdown => as_markdown(&mut text, &groups),
    };
    text
}

type Groups<'t> = [(&'t str, Vec<&'t Arg>)];

fn as_text(text: &mut String, groups: &Groups<'_>) -> std::fmt::Result {
    let width = groups.iter().flat_map(|(_, settings)| settings).map(|one| key(one).len()).max().unwrap_or(0);
    for (group, settings) in groups {
        writeln!(text, "{group}")?;
        for setting in settings {
            let default = default(setting).map(|default| format!(" [{default}]")).unwrap_or_default();
            writeln!(text, "  {:width$}  {} ({}){default}", key(setting), help(setting), values(setting))?;
        }
    }
    writeln!(
        text,
        "\nEach is a flag (--listen), a variable (PETSTORE_LISTEN) and a key of the --config file (listen)."
    )
}

fn as_sample(text: &mut String, groups: &Groups<'_>) -> std::fmt::Result {
    writeln!(text, "# Settings of petstore (TOML). A commented value is the default or a placeholder.")?;
    for (group, settings) in groups {
        writeln!(text, "\n# --- {group}")?;
        for setting in settings {
            writeln!(text, "\n# {} ({})", help(setting), values(setting))?;
            writeln!(text, "#{} = {}", key(setting), sample(setting))?;
        }
    }
    Ok(())
}

fn as_markdown(text: &mut String, groups: &Groups<'_>) -> std::fmt::Result {
    for (group, settings) in groups {
        writeln!(text, "## {group}\n\n| key | values | default | |\n|---|---|---|---|")?;
        for setting in settings {
            let default = default(setting).map(|default| format!("`{default}`")).unwrap_or_default();
            let values = values(setting).replace('|', "\\|");
            writeln!(text, "| `{}` | {values} | {default} | {} |", key(setting), help(setting))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn help(setting: &Arg) -> String {
    setting.get_help().map(ToString::to_string).unwrap_or_default()
}

/// The values of a setting: its range, its words or its form.
fn values(setting: &Arg) -> String {
    let words: Vec<_> = setting.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    let names: Vec<_> =
        setting.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    // Without a value name, clap would use the name of the setting.
    if words.is_empty() { names.join(" ") } else { words.join("|") }
}

fn default(setting: &Arg) -> Option<String> {
    let defaults = setting.get_default_values();
    let texts: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

/// A value as TOML: the default, or a placeholder.
fn sample(setting: &Arg) -> String {
    let is_list = setting.get_value_delimiter().is_some();
    match default(setting) {
        Some(value) if value.parse::<u64>().is_ok() || value == "true" || value == "false" => value,
        Some(value) => format!("\"{value}\""),
        None if is_list => format!("[\"{}\"]", values(setting)),
        None => format!("\"{}\"", values(setting)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::table::{judge, variable};

    #[test]
    fn every_setting_has_a_line_of_help_a_group_and_a_value_range() {
        for setting in table().get_arguments() {
            let help = help(setting);
            assert!(
                !help.is_empty() && help.len() <= 120 && !help.contains('\n'),
                "{}: {help}",
                key(setting)
            );
            assert!(setting.get_help_heading().is_some(), "{}", key(setting));
            assert!(!values(setting).is_empty(), "{}", key(setting));
            assert_eq!(
                variable(setting),
                format!("PETSTORE_{}", key(setting).replace('-', "_").to_uppercase())
            );
        }
    }

    #[test]
    fn the_documented_range_is_the_accepted_one() {
        let mut ranges = 0;
        for setting in table().get_arguments() {
            let values = values(setting);
            let Some((from, to)) = values.split_once("..") else { continue };
            ranges += 1;
            for end in [from, to] {
                assert_eq!(judge(setting, end), Ok(()), "{} {end}", key(setting));
            }
            let beyond = if let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) {
                [from.checked_sub(1).map_or("-1".to_owned(), |below| below.to_string()), (to + 1).to_string()]
            } else {
                let [from, to] = [from, to].map(|end| humantime::parse_duration(end).unwrap());
                [from / 2, to * 2].map(|end| humantime::format_duration(end).to_string())
            };
            for end in beyond {
                assert!(judge(setting, &end).unwrap_err().starts_with("expected"), "{} {end}", key(setting));
            }
        }
        assert!(ranges > 20, "{ranges}");
    }

    #[test]
    fn each_default_is_accepted() {
        for setting in table().get_arguments() {
            if let Some(value) = default(setting) {
                assert_eq!(judge(setting, &value), Ok(()), "{}", key(setting));
            }
        }
    }
}
