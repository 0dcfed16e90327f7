//! The exposition at /metrics, parsed as Prometheus does.

use std::collections::{BTreeMap, BTreeSet};

use super::Client;

/// Parses an exposition into samples by name and labels. Panics if the text is not OpenMetrics 1.0, for example because
/// a sample is outside its family, a line is malformed or the end mark is missing.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut families, mut family) = (BTreeMap::new(), BTreeSet::new(), String::new());
    let body = text.strip_suffix("# EOF\n").expect("the text ends with its mark");
    for line in body.lines() {
        if let Some(described) = line.strip_prefix("# ") {
            let mut words = described.splitn(3, ' ');
            let (kind, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE", "UNIT"].contains(&kind), "{line}");
            if name != family {
                assert!(families.insert(name.to_owned()), "{name} is told twice");
                name.clone_into(&mut family);
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        let suffix = bare.strip_prefix(&family).unwrap_or_else(|| panic!("{line} is not of {family}"));
        assert!(["", "_total", "_bucket", "_sum", "_count", "_created"].contains(&suffix), "{line}");
        assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} is there twice");
    }
    samples
}

/// Reads and parses the server's exposition.
pub fn scrape(client: &mut Client) -> BTreeMap<String, f64> {
    let answer = client.ask("GET", "/metrics", ACCEPT_OPENMETRICS, "").unwrap();
    assert_eq!(answer.status, 200);
    parse(&answer.body)
}

/// The header of a scraper that asks for OpenMetrics, as Prometheus sends it.
pub const ACCEPT_OPENMETRICS: &str = "accept: application/openmetrics-text;version=1.0.0;q=0.5,\
    application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1\r\n";
