//! The report as a table for a terminal.

use std::fmt::{self, Display, Formatter};

use crate::judgement::Proof;
use crate::report::{ClientReport, Report, RuleReport, RuleVerdict};

/// The number of findings of a rule that the text shows.
const FINDINGS_SHOWN: usize = 3;

impl Display for Report<'_> {
    /// Writes a table for each client. The ids are those that the server accepted: letters, digits and `._-`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.clients.is_empty() {
            return f
                .write_str("No requests: send some to the API first, and check that the journal is on.\n");
        }
        for (place, client) in self.clients.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            write_client(f, client)?;
        }
        Ok(())
    }
}

fn write_client(f: &mut Formatter<'_>, client: &ClientReport<'_>) -> fmt::Result {
    let noun = if client.requests == 1 { "request" } else { "requests" };
    match client.key {
        Some(key) => writeln!(f, "Key {key}...: {} {noun}", client.requests)?,
        None => writeln!(f, "Without a valid key: {} {noun}", client.requests)?,
    }
    writeln!(f, "  {:<18} {:<9} {:>5}  RULE", "NAME", "VERDICT", "CASES")?;
    for rule in &client.rules {
        let (name, verdict) = (rule.rule.name, rule.verdict().as_str());
        writeln!(f, "  {name:<18} {verdict:<9} {:>5}  {}", rule.cases, rule.rule.summary)?;
        write_findings(f, rule)?;
    }
    let broken = client.rules.iter().filter(|rule| rule.verdict() == RuleVerdict::Broken).count();
    match broken {
        0 => writeln!(f, "No rule is broken."),
        1 => writeln!(f, "1 rule is broken."),
        _ => writeln!(f, "{broken} rules are broken."),
    }
}

fn write_findings(f: &mut Formatter<'_>, rule: &RuleReport<'_>) -> fmt::Result {
    let mut advised = "";
    for finding in rule.findings.iter().take(FINDINGS_SHOWN) {
        write!(f, "    {}: {}", finding.severity.as_str(), finding.reason)?;
        for (place, Proof { sequence, id }) in finding.requests.iter().enumerate() {
            write!(f, "{} #{sequence} {id}", if place == 0 { " Requests" } else { "," })?;
        }
        f.write_str("\n")?;
        // Several findings of a rule often have the same advice.
        if std::mem::replace(&mut advised, &finding.advice) != finding.advice {
            writeln!(f, "      advice: {}", finding.advice)?;
        }
    }
    match rule.findings.len().saturating_sub(FINDINGS_SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "    and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Report;
    use crate::rules::{ATTEMPTS_MAX, RULES};
    use crate::tests::{get, numbered};

    #[test]
    fn a_table_shows_each_rule_and_the_first_findings() {
        let mut sent = vec![get(0).limited(30)];
        sent.extend((1..=5).map(|at| get(at * 1_000)));
        let text = Report::of_requests(&numbered(&sent), ATTEMPTS_MAX).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Key pet_aaaaaaaa...: 6 requests");
        assert_eq!(
            lines[2..8],
            [
                "  waits              broken        1  sends nothing before the Retry-After of a 429, a 503 or a \
                 ban has passed",
                "    breach: It came 29.0 s too early after a 429. Requests #1 r1, #2 r2",
                "      advice: Wait 30 s, as `Retry-After: 30` said, before the next request.",
                "    breach: It came 28.0 s too early after a 429. Requests #1 r1, #3 r3",
                "    breach: It came 27.0 s too early after a 429. Requests #1 r1, #4 r4",
                "    and 2 more",
            ]
        );
        assert_eq!(lines.last(), Some(&"1 rule is broken."));
        assert_eq!(lines.len(), 2 + RULES.len() + 5 + 1);
    }

    #[test]
    fn without_requests_it_says_what_to_do() {
        assert!(Report::of_requests(&[], ATTEMPTS_MAX).to_string().starts_with("No requests: send some"));
    }
}
