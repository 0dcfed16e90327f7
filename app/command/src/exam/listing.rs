//! The list of the scenarios.

use serde::Serialize;

use super::run::Run;
use super::scenario::Scenario;
use crate::failure::Failure;
use crate::table::{Table, show};
use crate::terminal::{print, visible_json};

/// A scenario in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScenarioView<'s> {
    name: &'s str,
    title: &'s str,
    proves: &'s [String],
    must_pass: bool,
    /// The names of the runs, as they are in reports.
    runs: Vec<String>,
}

/// Prints scenarios, as a table or as JSON.
pub(super) fn show_all(scenarios: &[Scenario], is_json: bool) -> Result<(), Failure> {
    if is_json {
        let views: Vec<_> = scenarios.iter().map(ScenarioView::from).collect();
        let json =
            serde_json::to_string_pretty(&views).map_err(|error| Failure::because(error.to_string()))?;
        return print(&visible_json(&format!("{json}\n")));
    }
    let mut table = Table::new(["SCENARIO", "TITLE", "PROVES"]);
    for scenario in scenarios {
        table.row([scenario.name.clone(), scenario.title.clone(), scenario.proves.join(", ")]);
    }
    show(&table)
}

impl<'s> From<&'s Scenario> for ScenarioView<'s> {
    fn from(scenario: &'s Scenario) -> Self {
        Self {
            name: &scenario.name,
            title: &scenario.title,
            proves: &scenario.proves,
            must_pass: scenario.must_pass,
            runs: Run::of(scenario).iter().map(Run::name).collect(),
        }
    }
}
