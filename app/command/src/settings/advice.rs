//! Suggestions for flags and commands of other servers.

use clap::error::{ContextKind, ContextValue};

/// Adds a suggestion to the error about a word that other servers use and this server does not.
pub(super) fn advised(mut fault: clap::Error) -> clap::Error {
    const LISTEN: &str =
        "to serve on another port or address, use '--listen 127.0.0.1:9090' or '--listen 9090'";
    const SERVE: &str = "to start the server, use 'petstore' or 'petstore serve'";
    let word = |kind| match fault.get(kind) {
        Some(ContextValue::String(word)) => Some(word.to_lowercase()),
        _ => None,
    };
    let flag = word(ContextKind::InvalidArg);
    let flag = flag.as_deref().map(|flag| flag.split('=').next().unwrap_or_default());
    let tip = match (flag, word(ContextKind::InvalidSubcommand).as_deref()) {
        (Some("--port" | "-p" | "--host" | "--bind" | "-b" | "--address" | "--addr" | "--ip"), _) => LISTEN,
        (_, Some("start" | "run" | "server" | "up" | "launch")) => SERVE,
        _ => return fault,
    };
    // clap's own suggestion is similar in spelling, not in meaning.
    fault.remove(ContextKind::SuggestedArg);
    fault.remove(ContextKind::SuggestedSubcommand);
    fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    fault
}
