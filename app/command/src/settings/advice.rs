//! Tips for words of a command line that other servers know.

use clap::error::{ContextKind, ContextValue};

/// Adds what was probably meant, for words that other servers know and this one does not.
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
    // What is spelled alike is not what is meant.
    fault.remove(ContextKind::SuggestedArg);
    fault.remove(ContextKind::SuggestedSubcommand);
    fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    fault
}
