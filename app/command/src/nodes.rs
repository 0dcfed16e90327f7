//! `petstore nodes`: the nodes that share a database, and the settings in which they differ.

mod differences;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use self::differences::differences;
use crate::failure::Failure;
use crate::settings::{DEFAULT_DB, Db, PgArgs};
use crate::store::{Node, nodes_of};
use crate::table::{Table, show};
use crate::terminal::{print, visible_json};

/// The database, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    /// PostgreSQL database that the nodes share
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "URL")]
    db: Db,

    /// File with the password of the PostgreSQL role
    #[arg(long, env = "PETSTORE_DB_PASSWORD_FILE", value_parser = crate::settings::expected::file(), value_name = "FILE", hide = true)]
    db_password_file: Option<PathBuf>,

    #[command(flatten)]
    pg: PgArgs,

    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// The nodes in JSON.
#[derive(Serialize)]
struct Listed<'n> {
    nodes: Vec<NodeView<'n>>,
    differences: Vec<DifferenceView<'n>>,
}

/// A node in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeView<'n> {
    id: &'n str,
    version: &'n str,
    host: &'n str,
    address: &'n str,
    started_at: String,
    seen_at: String,
    live: bool,
    event_form: u32,
    settings: BTreeMap<&'n str, &'n str>,
}

impl<'n> From<&'n Node> for NodeView<'n> {
    fn from(node: &'n Node) -> Self {
        let Node { id, version, event_form, host, address, started, seen, is_live, settings, .. } = node;
        Self {
            id,
            version,
            host,
            address,
            started_at: started.to_string(),
            seen_at: seen.to_string(),
            live: *is_live,
            event_form: *event_form,
            settings: settings.iter().filter_map(|one| one.split_once('=')).collect(),
        }
    }
}

/// A setting that differs between live nodes, in JSON.
#[derive(Serialize)]
struct DifferenceView<'n> {
    setting: &'n str,
    values: Vec<ValueView<'n>>,
}

/// A value of such a setting, with the ids of its nodes.
#[derive(Serialize)]
struct ValueView<'n> {
    value: &'n str,
    nodes: Vec<&'n str>,
}

impl NodesArgs {
    /// Lists the nodes, and the settings in which the live ones differ.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Db::Postgres(target) = self.pg.applied(self.db.with_password(self.db_password_file.as_deref())?)
        else {
            return Err(Failure::usage(
                "only a PostgreSQL database has nodes: name it with --db postgres://USER@HOST/DATABASE",
            ));
        };
        let nodes = nodes_of(&target)?.ok_or_else(|| {
            Failure::because(format!(
                "{target} has no table of nodes: the first node that this release starts there creates it"
            ))
        })?;
        if self.json { print_json(&nodes) } else { print_tables(&nodes) }
    }
}

fn live(nodes: &[Node]) -> impl Iterator<Item = (&str, &[String])> {
    nodes.iter().filter(|node| node.is_live).map(|node| (&*node.id, &*node.settings))
}

fn print_json(nodes: &[Node]) -> Result<(), Failure> {
    let differences = differences(live(nodes)).into_iter().map(|one| DifferenceView {
        setting: one.setting,
        values: one.values.into_iter().map(|(value, nodes)| ValueView { value, nodes }).collect(),
    });
    let listed =
        Listed { nodes: nodes.iter().map(NodeView::from).collect(), differences: differences.collect() };
    let json = serde_json::to_string_pretty(&listed).map_err(|error| Failure::because(error.to_string()))?;
    print(&visible_json(&format!("{json}\n")))
}

fn print_tables(nodes: &[Node]) -> Result<(), Failure> {
    let mut table =
        Table::new(["ID", "VERSION", "HOST", "ADDRESS", "STARTED", "SEEN", "STATE"]).painted(paint);
    for node in nodes {
        table.row([
            node.id.clone(),
            node.version.clone(),
            node.host.clone(),
            node.address.clone(),
            node.started.to_string(),
            format!("{} s ago", node.seen_ago.as_secs()),
            if node.is_live { LIVE } else { GONE }.to_owned(),
        ]);
    }
    show(&table)?;
    if let Some(older) = older_nodes(nodes) {
        print(&format!("\n{older}\n"))?;
    }
    let differences = differences(live(nodes));
    if differences.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["SETTING THAT DIFFERS", "VALUE", "NODES"]);
    for one in differences {
        for (value, nodes) in one.values {
            table.row([one.setting.to_owned(), value.to_owned(), nodes.join(", ")]);
        }
    }
    print("\n").and_then(|()| show(&table))
}

/// Returns a remark about the live nodes of an older release, if they do not know kinds of events that another live node knows.
fn older_nodes(nodes: &[Node]) -> Option<String> {
    let live = || nodes.iter().filter(|node| node.is_live);
    let newest = live().map(|node| node.event_form).max()?;
    let older = live().filter(|node| node.event_form < newest);
    let ids: Vec<_> = older.map(|node| format!("{} ({})", node.id, node.version)).collect();
    (!ids.is_empty()).then(|| {
        format!(
            "Nodes of an older release run: {}. Events of kinds that they do not know are left out until about 30 s after \
             these nodes have stopped.",
            ids.join(", ")
        )
    })
}

const LIVE: &str = "live";

/// The state of a node that has not renewed its row for 30 s, because it was killed or does not reach the database.
const GONE: &str = "gone";

fn paint(_: usize, text: &str) -> Style {
    match text {
        LIVE => AnsiColor::Green.on_default(),
        GONE => AnsiColor::Red.on_default(),
        _ => Style::new(),
    }
}

/// Returns a warning for each setting in which a node with these settings, each as `name=value`, differs from live nodes.
pub(crate) fn warnings(own: &[String], nodes: &[Node]) -> Vec<String> {
    let named = nodes.iter().filter(|node| node.is_live).map(|node| (Some(node), &*node.settings));
    let found = differences(named.chain([(None, own)]));
    let here = |nodes: &[Option<&Node>]| nodes.iter().any(Option::is_none);
    let warn = |one: &differences::Difference<'_, Option<&Node>>| {
        // Other nodes may differ among themselves in a setting that this one does not have.
        let (own, _) = one.values.iter().find(|(_, nodes)| here(nodes))?;
        let others = one.values.iter().filter(|(_, nodes)| !here(nodes)).map(|(value, nodes)| {
            let hosts = nodes.iter().flatten().map(|node| format!("{} ({})", node.host, node.address));
            format!("{value} on {}", hosts.collect::<Vec<_>>().join(", "))
        });
        let others = others.collect::<Vec<_>>().join(", and ");
        Some(format!("{} is {own} here, but {others}: give all nodes the same value", one.setting))
    };
    found.iter().filter_map(warn).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::Timestamp;

    use super::*;

    fn node(host: &str, is_live: bool, setting: &str) -> Node {
        Node {
            id: format!("{host}-id"),
            version: "1.0.0".to_owned(),
            event_form: 1,
            host: host.to_owned(),
            address: "10.0.0.1:80".to_owned(),
            started: Timestamp::EPOCH,
            seen: Timestamp::EPOCH,
            seen_ago: Duration::ZERO,
            is_live,
            settings: vec![setting.to_owned()],
        }
    }

    #[test]
    fn live_nodes_that_hold_back_a_new_kind_of_event_are_named() {
        let form = |event_form, node| Node { event_form, ..node };
        let same = [node("a", true, "x=1"), node("b", true, "x=1"), form(2, node("gone", false, "x=1"))];
        assert_eq!(older_nodes(&same), None);
        let upgrade = [node("a", true, "x=1"), form(2, node("b", true, "x=1")), node("gone", false, "x=1")];
        let found = older_nodes(&upgrade).expect("a knows fewer kinds than b");
        assert!(found.starts_with("Nodes of an older release run: a-id (1.0.0). Events"), "{found}");
    }

    #[test]
    fn a_setting_of_live_nodes_that_differs_from_this_one_is_reported() {
        let own = ["free-day=9".to_owned(), "free-minute=6".to_owned()];
        let nodes = [
            node("a", true, "free-minute=6"),
            node("b", true, "free-minute=7"),
            node("c", true, "free-minute=7"),
            node("d", false, "free-minute=8"),
        ];
        let found = warnings(&own, &nodes);
        let expected =
            "free-minute is 6 here, but 7 on b (10.0.0.1:80), c (10.0.0.1:80): give all nodes the same value";
        assert_eq!(found, [expected]);
        // A setting that this node does not have.
        let others = [node("a", true, "pro-day=1"), node("b", true, "pro-day=2")];
        assert_eq!(warnings(&own, &others), <[String; 0]>::default());
    }
}
