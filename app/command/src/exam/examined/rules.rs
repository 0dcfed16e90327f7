//! The verdicts of an exam, as the client report of the sandbox tells them.

use petstore_client_report::{RULES, RuleVerdict};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest name of a rule or of a severity.
const WORD_MAX: usize = 40;

/// The client report of a sandbox, in the form in which `/sandbox/report` renders it.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::exam) struct ExaminedRules {
    clients: Vec<ExaminedClient>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExaminedClient {
    key_prefix: Option<String>,
    rules: Vec<ExaminedRule>,
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::exam) struct ExaminedRule {
    /// The name, such as `waits`.
    #[serde(deserialize_with = "read_word")]
    pub(in crate::exam) name: String,
    /// The rule as a part of a sentence.
    pub(in crate::exam) summary: String,
    /// The part of the contract, or the standard, that has the rule.
    pub(in crate::exam) source: String,
    /// The verdict.
    #[serde(serialize_with = "write_verdict", deserialize_with = "read_verdict")]
    pub(in crate::exam) verdict: RuleVerdict,
    /// The number of times that the rule applied.
    pub(in crate::exam) cases: usize,
    /// The number of findings, also of those that are left out.
    pub(in crate::exam) found: usize,
    /// The first findings, in the order of arrival.
    pub(in crate::exam) findings: Vec<ExaminedFinding>,
}

/// A place at which the client did not follow a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::exam) struct ExaminedFinding {
    /// `breach` or `hint`.
    #[serde(deserialize_with = "read_word")]
    pub(in crate::exam) severity: String,
    /// The reason as a sentence.
    pub(in crate::exam) reason: String,
    /// A sentence that says what the client should have done; empty if the sandbox is of a release that has none.
    #[serde(default)]
    pub(in crate::exam) advice: String,
    /// The requests that prove it; the last one is the one that should not have come.
    pub(in crate::exam) requests: Vec<ExaminedProof>,
}

/// A reference to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::exam) struct ExaminedProof {
    /// The number in the order of arrival.
    pub(in crate::exam) sequence: u64,
    /// The id of the request.
    pub(in crate::exam) id: String,
}

impl ExaminedRules {
    /// Returns the rules of the client whose key begins so. A client without a request has tested no rule.
    pub(in crate::exam) fn of_key(self, key_prefix: &str) -> Vec<ExaminedRule> {
        let own = self.clients.into_iter().find(|client| client.key_prefix.as_deref() == Some(key_prefix));
        own.map_or_else(Self::untested, |client| client.rules)
    }

    fn untested() -> Vec<ExaminedRule> {
        RULES
            .iter()
            .map(|rule| ExaminedRule {
                name: rule.name.to_owned(),
                summary: rule.summary.to_owned(),
                source: rule.source.to_owned(),
                verdict: RuleVerdict::Untested,
                cases: 0,
                found: 0,
                findings: vec![],
            })
            .collect()
    }
}

/// Writes a verdict as a word.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
pub(super) fn write_verdict<S: Serializer>(verdict: &RuleVerdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.as_str())
}

fn read_verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RuleVerdict, D::Error> {
    let all = [RuleVerdict::Untested, RuleVerdict::Kept, RuleVerdict::Hint, RuleVerdict::Broken];
    let word = String::deserialize(deserializer)?;
    let found = all.into_iter().find(|verdict| verdict.as_str() == word);
    found.ok_or_else(|| de::Error::custom(format!("{word} is no verdict")))
}

/// Reads a word of lower-case letters, digits and hyphens. Reports have it without escapes, and the sandbox may be of others.
fn read_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let word = String::deserialize(deserializer)?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=WORD_MAX).contains(&word.len()) && word.bytes().all(is_plain) {
        Ok(word)
    } else {
        Err(de::Error::custom(
            "a rule or a severity has a name of other characters than a-z, 0-9 and hyphens",
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rules_of_one_key_are_read_from_a_report() {
        let report = json!({"verdict": "broken", "clients": [
            {"keyPrefix": null, "requests": 1, "verdict": "kept", "rules": []},
            {"keyPrefix": "pet_aaaaaaaa", "requests": 2, "verdict": "broken", "rules": [
                {"name": "waits", "summary": "waits", "source": "RFC", "verdict": "broken", "cases": 1, "found": 1, "findings": [
                    {"severity": "breach", "reason": "early", "requests": [{"sequence": 1, "id": "a"}, {"sequence": 2, "id": "b"}]}
                ]}
            ]},
        ]});
        let read = || serde_json::from_value::<ExaminedRules>(report.clone()).unwrap();
        let rules = read().of_key("pet_aaaaaaaa");
        assert_eq!((&*rules[0].name, rules[0].verdict, rules[0].found), ("waits", RuleVerdict::Broken, 1));
        assert_eq!(rules[0].findings[0].requests[1].sequence, 2);
        let nothing = read().of_key("pet_bbbbbbbb");
        assert_eq!(nothing.len(), RULES.len());
        assert!(nothing.iter().all(|rule| rule.verdict == RuleVerdict::Untested));
        let wrong = json!({"clients": [{"keyPrefix": null, "rules": [
            {"name": "waits", "summary": "", "source": "", "verdict": "fine", "cases": 0, "found": 0, "findings": []}
        ]}]});
        assert!(serde_json::from_value::<ExaminedRules>(wrong).is_err());
    }

    #[test]
    fn a_name_that_a_page_or_a_terminal_would_take_for_more_is_refused() {
        let report = |name: &str, severity: &str| {
            json!({"clients": [{"keyPrefix": null, "rules": [
                {"name": name, "summary": "", "source": "", "verdict": "kept", "cases": 0, "found": 0, "findings": [
                    {"severity": severity, "reason": "", "requests": []}
                ]}
            ]}]})
        };
        let is_read =
            |name, severity| serde_json::from_value::<ExaminedRules>(report(name, severity)).is_ok();
        assert!(is_read("spares-its-quota", "breach"));
        for wrong in ["", "<b>", "a b", "\u{1b}[0m", &"a".repeat(WORD_MAX + 1)] {
            assert!(!is_read(wrong, "breach") && !is_read("waits", wrong), "{wrong:?}");
        }
    }
}
