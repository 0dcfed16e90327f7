//! Differences from the expected schema, and the text that reports them.

/// The number of objects that a refusal names.
pub(super) const NAMED_MAX: usize = 5;

/// A difference from the expected schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    /// The statement that removes the difference; none if only a backup helps.
    pub(super) statement: Option<String>,
}

/// Describes faults, with the statements that remove them.
pub(super) fn reason(faults: &[Fault]) -> String {
    let (named, others) = faults.split_at(faults.len().min(NAMED_MAX));
    let more = (!others.is_empty()).then(|| format!("and {} more", others.len()));
    let whats = named.iter().map(|fault| fault.what.clone()).chain(more).collect::<Vec<_>>().join(", ");
    let statements = || named.iter().filter_map(|fault| fault.statement.as_deref());
    let is_plain = |statement: &&str| !statement.contains(char::is_control);
    let plain: Vec<_> = statements().filter(is_plain).collect();
    let for_shell: Vec<_> = statements().filter(|statement| !is_plain(statement)).map(shell_text).collect();
    let mut reason = whats;
    if !plain.is_empty() {
        reason.push_str("; remove them with an SQLite tool: ");
        reason.push_str(&plain.join(" "));
    }
    if !for_shell.is_empty() {
        let text = for_shell.join(" ");
        reason.push_str("; remove names with control characters in a shell: sqlite3 FILE \"$(printf '");
        reason.push_str(&text);
        reason.push_str("')\"");
    }
    if named.iter().any(|fault| fault.statement.is_none()) {
        reason.push_str("; restore a backup");
    }
    reason
}

/// Encodes a text for `printf '…'` in a shell, without control characters.
fn shell_text(text: &str) -> String {
    let mut encoded = String::new();
    for sign in text.chars() {
        match sign {
            '\'' => encoded.push_str("'\\''"),
            '\\' => encoded.push_str("\\\\"),
            '%' => encoded.push_str("%%"),
            control if control.is_control() => {
                let mut bytes = [0; 4];
                let bytes = control.encode_utf8(&mut bytes).bytes();
                encoded.extend(bytes.map(|byte| format!("\\{byte:03o}")));
            }
            other => encoded.push(other),
        }
    }
    encoded
}
