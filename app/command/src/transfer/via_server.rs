//! Transfers through a running server: the client of `admin::BulkTransfers`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::time::Duration;

use petstore_ports::{WorkPhase, WorkProgress, WorkUnit};
use petstore_shop_lines::{END_LINE, ImportFailure};
use petstore_sqlite::{Copied, keep_copy};

use super::unimported;
use crate::admin::{AdminAnswer, AdminRequest, LINE_TIME, NOT_UNDERSTOOD, Stream, begin, begun, cut_off};
use crate::failure::Failure;
use crate::progress::CountedReader;
use crate::shop_lines::unwritten;

/// Sends lines to a server, which imports all or none. `fault` converts an error of reading the input.
pub(super) fn import(
    mut server: Stream,
    input: impl Read,
    rename_collisions: bool,
    progress: &dyn WorkProgress,
    fault: impl Fn(&io::Error) -> Failure,
) -> Result<(u64, Vec<String>), Failure> {
    let mut answers = begin(&server, &AdminRequest::Import { rename_collisions }, LINE_TIME)?;
    let sent = send_lines(input, &mut server);
    // Without the end line, the server discards the lines.
    let _ = server.shutdown(Shutdown::Write);
    if let Err(Broken::Input(error)) = sent {
        return Err(unimported(&fault(&error).message.into()));
    }
    // The server may refuse a line while the client is still sending; the reason follows in the answer.
    progress.begin(WorkPhase {
        name: "waiting for the server to store the lines",
        unit: WorkUnit::Time,
        total: None,
    });
    let outcome = outcome(&mut answers);
    progress.end();
    match outcome? {
        AdminAnswer::Imported { lines, renamed } => Ok((lines, renamed)),
        AdminAnswer::Refused { why } => Err(unimported(&ImportFailure::Nothing(why))),
        AdminAnswer::InDoubt { why } => Err(unimported(&ImportFailure::InDoubt(why))),
        _ => Err(in_doubt("unexpected answer: the server may be of another version")),
    }
}

/// The side that has failed while lines were sent.
enum Broken {
    Input(io::Error),
    Output,
}

fn send_lines(input: impl Read, server: &mut impl Write) -> Result<(), Broken> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut last = b'\n';
    loop {
        let bytes = input.fill_buf().map_err(Broken::Input)?;
        let Some(end) = bytes.last() else { break };
        last = *end;
        server.write_all(bytes).map_err(|_| Broken::Output)?;
        let length = bytes.len();
        input.consume(length);
    }
    if last != b'\n' {
        server.write_all(b"\n").map_err(|_| Broken::Output)?;
    }
    server.write_all(END_LINE).map_err(|_| Broken::Output)
}

/// Writes the lines of a server's export.
pub(super) fn export(
    server: &Stream,
    output: &mut dyn Write,
    progress: &dyn WorkProgress,
) -> Result<u64, Failure> {
    let mut answers = begin(server, &AdminRequest::Export, LINE_TIME)?;
    progress.begin(WorkPhase { name: "exporting", unit: WorkUnit::Lines, total: None });
    let (mut count, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
        // The server's answer follows the last line of the export.
        if read == 0 || line.starts_with(b"{\"answer\"") {
            break;
        }
        output.write_all(&line).map_err(|error| unwritten(&error))?;
        count += 1;
        progress.reached(count);
    }
    match serde_json::from_slice::<AdminAnswer>(&line) {
        Ok(AdminAnswer::Exported { lines }) if lines == count => Ok(count),
        Ok(answer) => {
            answer.understood().map(|_| count).and(Err(Failure::because("the export is incomplete")))
        }
        Err(_) => Err(Failure::because(
            "the export is incomplete: the server closed the connection, perhaps because its reader was too slow",
        )),
    }
}

/// The result of a request for a backup.
pub(super) enum Asked {
    /// The server has sent the backup.
    Came(Copied),
    /// The client copies the file itself.
    CopyFile,
}

/// Receives a backup that a server makes from memory. `patience` is the time limit of its first answer.
pub(super) fn backup(
    server: &Stream,
    patience: Duration,
    source: &Path,
    target: &Path,
    progress: &dyn WorkProgress,
) -> Result<Asked, Failure> {
    // If the server cannot be asked, the file may still be sound, so the client copies the file itself.
    let Ok((mut answers, first)) = begun(server, &AdminRequest::Backup, patience) else {
        return Ok(Asked::CopyFile);
    };
    match first {
        AdminAnswer::Ready => {}
        AdminAnswer::CopyFile => return Ok(Asked::CopyFile),
        AdminAnswer::Refused { why } if why == NOT_UNDERSTOOD => return Ok(Asked::CopyFile),
        answer => return Err(not_made(answer)),
    }
    progress.begin(WorkPhase { name: "waiting for the server's copy", unit: WorkUnit::Time, total: None });
    let mut line = Vec::new();
    answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
    match serde_json::from_slice(&line) {
        Ok(AdminAnswer::Copied { pets, orders, bytes }) => {
            let mut counted = CountedReader::new(answers, progress, "copying", Some(bytes));
            keep_copy(source, target, &mut counted, bytes)
                .map_err(|error| Failure::because(error.report()))?;
            Ok(Asked::Came(Copied { pets, orders, bytes }))
        }
        Ok(answer) => Err(not_made(answer)),
        Err(_) => Err(Failure::because("no backup was made: the server closed the connection")),
    }
}

fn not_made(answer: AdminAnswer) -> Failure {
    let why = match answer {
        AdminAnswer::Refused { why } => why,
        _ => "unexpected answer: the server may be of another version".to_owned(),
    };
    Failure::because(format!(
        "no backup was made: {why}; `petstore export` writes the data that the server has in memory"
    ))
}

/// Reads the result of an import. Without a complete answer the result is unknown, because only the server knows it.
fn outcome(answers: &mut impl BufRead) -> Result<AdminAnswer, Failure> {
    let mut line = Vec::new();
    let read = answers.read_until(b'\n', &mut line);
    read.map_err(|error| in_doubt(&format!("no answer from the server: {error}")))?;
    if line.last() != Some(&b'\n') {
        return Err(in_doubt("the server closed the connection before the result of the import"));
    }
    serde_json::from_slice(&line)
        .map_err(|_| in_doubt("the server's answer cannot be parsed: it may be of another version"))
}

fn in_doubt(why: &str) -> Failure {
    unimported(&ImportFailure::InDoubt(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use petstore_ports::Unwatched;

    use super::*;
    use crate::admin::pair;

    /// The result of an import whose server is ready, sends this answer after all lines, and then disconnects.
    fn import_answered(last: &[u8]) -> Result<u64, Failure> {
        let (client, mut server) = pair();
        let last = last.to_vec();
        let server = std::thread::spawn(move || {
            server.write_all(b"{\"answer\":\"ready\"}\n").unwrap();
            let mut sent = Vec::new();
            server.read_to_end(&mut sent).unwrap();
            assert!(sent.ends_with(END_LINE));
            server.write_all(&last).unwrap();
        });
        let imported = import(client, &b"{}\n"[..], false, &Unwatched, cut_off);
        server.join().unwrap();
        imported.map(|(lines, _)| lines)
    }

    #[test]
    fn an_import_without_a_complete_answer_is_in_doubt() {
        let whole = b"{\"answer\":\"imported\",\"lines\":1}\n";
        assert_eq!(import_answered(whole).unwrap(), 1);
        let broken = (0..whole.len()).map(|end| &whole[..end]);
        for answer in broken.chain([&b"{\"answer\":\"later\"}\n"[..], b"{\"answer\":\"ready\"}\n", b"\xff\n"])
        {
            let Failure { message, code } = import_answered(answer).unwrap_err();
            let said = String::from_utf8_lossy(answer);
            assert_eq!(code, 1, "{said}");
            assert!(
                message.ends_with(": the import is complete or absent: check before you import again"),
                "{said}: {message}"
            );
        }
    }
}
