//! `petstore sandbox`: the client report of a running sandbox.

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::http_client::{ANSWER_TIME, ApiClient, BaseUrl, JSON, default_server};
use crate::runtime::single_threaded;
use crate::settings::expected::number;
use crate::terminal::{print, visible, visible_json};

/// The media type of the table.
const TEXT: &str = "text/plain";

/// The header with the worst verdict of a report.
const VERDICT: &str = "x-verdict";

/// The number of characters of a key that a journal keeps. More of it would be a credential in a URL.
const PREFIX_LEN: usize = 12;

/// `petstore sandbox …`
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Print how well clients behaved, and fail if one broke a rule
    Report(ReportArgs),
}

impl SandboxCommand {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Report(args) => args.run(),
        }
    }
}

/// The report to print.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Only requests with this key, or with keys that begin so; default: each key
    #[arg(long, value_parser = key_prefix, value_name = "PREFIX")]
    key: Option<String>,
    /// Number of identical attempts that may fail in a row; default: 5
    #[arg(long, value_parser = number::<u32>(1..=1_000), value_name = "N")]
    attempts: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// URL of the sandbox, or of its --ops-listen; default: the server in PETSTORE_URL, else http://127.0.0.1:8080
    #[arg(long, value_parser = BaseUrl::parse, value_name = "URL")]
    url: Option<BaseUrl>,
}

impl ReportArgs {
    fn run(self) -> Result<(), Failure> {
        let path = self.path();
        let server = self.url.map_or_else(default_server, Ok)?.origin();
        let name = server.to_string();
        let mut client = ApiClient::without_key(server)?;
        let media_type = if self.json { JSON } else { TEXT };
        let answer = single_threaded()?.block_on(client.get_as(media_type, &path, ANSWER_TIME));
        let answer = answer.map_err(|error| Failure::because(format!("{name}: {}", error.why)))?;
        let body = String::from_utf8_lossy(&answer.body);
        match answer.status.as_u16() {
            200 => {}
            404 => {
                return Err(Failure::because(format!(
                    "{name}: no client report: start the server with --sandbox and without --sandbox-journal 0, and \
                     name its --ops-listen with --url if it has one"
                )));
            }
            status => {
                return Err(Failure::because(format!("{name}: /sandbox/report answers {status}: {body}")));
            }
        }
        if self.json {
            print(&format!("{}\n", visible_json(&body)))?;
        } else {
            print(&visible(&body))?;
        }
        let verdict = answer.headers.get(VERDICT).map_or(&b""[..], |verdict| verdict.as_bytes());
        match (verdict, &self.key) {
            (b"broken", _) => Err(Failure::because("a client broke a rule: see the report")),
            (b"none", Some(key)) => {
                Err(Failure::because(format!("the journal has no request with a key that begins with {key}")))
            }
            _ => Ok(()),
        }
    }

    fn path(&self) -> String {
        let key = self.key.as_ref().map(|key| format!("key={key}"));
        let attempts = self.attempts.map(|attempts| format!("attempts={attempts}"));
        let query: Vec<_> = key.into_iter().chain(attempts).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/sandbox/report{mark}{}", query.join("&"))
    }
}

/// Takes the beginning of a key, or a whole key, of which only the beginning is sent.
fn key_prefix(text: &str) -> Result<String, String> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty() || !text.chars().all(is_of_key) {
        return Err("expected the beginning of an API key, such as pet_4fW1kTqZ".to_owned());
    }
    Ok(text.chars().take(PREFIX_LEN).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_key_does_not_leave_the_machine() {
        let key = "pet_4fW1kTqZ0123456789012345678901234567890";
        assert_eq!(key_prefix(key).as_deref(), Ok("pet_4fW1kTqZ"));
        assert_eq!(key_prefix("pet_4f").as_deref(), Ok("pet_4f"));
        for wrong in ["", "pet 4", "pet_&a=b", "pét_", "pet_…"] {
            assert!(key_prefix(wrong).is_err(), "{wrong}");
        }
    }
}
