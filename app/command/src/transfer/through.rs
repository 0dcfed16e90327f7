//! Lines through a running server: the client's end of what `admin::Bulk` does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use petstore_sqlite::{Copied, keep_copy};

use super::progress::Progress;
use super::{unimported, unwritten};
use crate::Failure;
use crate::admin::{Answer, LINE_TIME, NOT_UNDERSTOOD, Request, begin, begun, cut_off};
use crate::ndjson::{END_LINE, Unimported};

/// Sends lines to a server, which takes all or none. `fault` is what a failure to read them is called.
pub(super) fn import(
    mut server: UnixStream,
    input: impl Read,
    rename_collisions: bool,
    progress: Progress,
    fault: impl Fn(&io::Error) -> Failure,
) -> Result<(u64, Vec<String>), Failure> {
    let mut answers = begin(&server, &Request::Import { rename_collisions }, LINE_TIME)?;
    let sent = send_lines(input, &mut server, progress);
    // Closed without the line that ends them, what was sent is dropped.
    let _ = server.shutdown(Shutdown::Write);
    if let Err(Broken::Input(error)) = sent {
        return Err(unimported(&fault(&error).message.into()));
    }
    // The server may refuse a line while we are still sending: why, it says afterwards.
    match outcome(&mut answers)? {
        Answer::Imported { lines, renamed } => Ok((lines, renamed)),
        Answer::Refused { why } => Err(unimported(&Unimported::Nothing(why))),
        Answer::InDoubt { why } => Err(unimported(&Unimported::InDoubt(why))),
        _ => Err(in_doubt("the server answered something else: is it of another version?")),
    }
}

/// What has stopped lines on their way.
enum Broken {
    Input(io::Error),
    Output,
}

fn send_lines(input: impl Read, server: &mut impl Write, mut progress: Progress) -> Result<(), Broken> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut count, mut last) = (0, b'\n');
    loop {
        let bytes = input.fill_buf().map_err(Broken::Input)?;
        let Some(end) = bytes.last() else { break };
        last = *end;
        server.write_all(bytes).map_err(|_| Broken::Output)?;
        for _ in bytes.iter().filter(|byte| **byte == b'\n') {
            count += 1;
            progress.show(count);
        }
        let length = bytes.len();
        input.consume(length);
    }
    if last != b'\n' {
        server.write_all(b"\n").map_err(|_| Broken::Output)?;
    }
    server.write_all(END_LINE).map_err(|_| Broken::Output)
}

/// Writes the lines that a server gives.
pub(super) fn export(
    server: &UnixStream,
    output: &mut dyn Write,
    mut progress: Progress,
) -> Result<u64, Failure> {
    let mut answers = begin(server, &Request::Export, LINE_TIME)?;
    let (mut count, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
        // Lines of the shop come as they are; one of the protocol's own ends them.
        if read == 0 || line.starts_with(b"{\"answer\"") {
            break;
        }
        output.write_all(&line).map_err(|error| unwritten(&error))?;
        count += 1;
        progress.show(count);
    }
    match serde_json::from_slice::<Answer>(&line) {
        Ok(Answer::Exported { lines }) if lines == count => Ok(count),
        Ok(answer) => {
            answer.understood().map(|_| count).and(Err(Failure::because("the export is not whole")))
        }
        Err(_) => Err(Failure::because(
            "the export is not whole: the server went away, or has waited for its reader for too long",
        )),
    }
}

/// What comes of asking a server for a backup.
pub(super) enum Asked {
    /// It has come.
    Came(Copied),
    /// The client copies the file itself.
    CopyFile,
}

/// Takes a backup that a server gives of what is in its memory. `patience`: how long for its first word.
pub(super) fn backup(
    server: &UnixStream,
    patience: Duration,
    source: &Path,
    target: &Path,
) -> Result<Asked, Failure> {
    // One that cannot be asked says nothing against its file.
    let Ok((mut answers, first)) = begun(server, &Request::Backup, patience) else {
        return Ok(Asked::CopyFile);
    };
    match first {
        Answer::Ready => {}
        Answer::CopyFile => return Ok(Asked::CopyFile),
        Answer::Refused { why } if why == NOT_UNDERSTOOD => return Ok(Asked::CopyFile),
        answer => return Err(not_made(answer)),
    }
    let mut line = Vec::new();
    answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
    match serde_json::from_slice(&line) {
        Ok(Answer::Copied { pets, orders, bytes }) => {
            keep_copy(source, target, &mut answers, bytes)
                .map_err(|error| Failure::because(error.report()))?;
            Ok(Asked::Came(Copied { pets, orders, bytes }))
        }
        Ok(answer) => Err(not_made(answer)),
        Err(_) => Err(Failure::because("no backup was made: the server went away")),
    }
}

fn not_made(answer: Answer) -> Failure {
    let why = match answer {
        Answer::Refused { why } => why,
        _ => "the server answered something else: is it of another version?".to_owned(),
    };
    Failure::because(format!(
        "no backup was made: {why}; `petstore export` writes what the server has in its memory"
    ))
}

/// What has become of an import. All of it may be there, although nobody says so, or only half a word: only the server
/// knows.
fn outcome(answers: &mut impl BufRead) -> Result<Answer, Failure> {
    let mut line = Vec::new();
    let read = answers.read_until(b'\n', &mut line);
    read.map_err(|error| in_doubt(&format!("the server's answer did not come: {error}")))?;
    if line.last() != Some(&b'\n') {
        return Err(in_doubt("the server went away before it said what has become of the import"));
    }
    serde_json::from_slice(&line)
        .map_err(|_| in_doubt("the server's answer cannot be read: is it of another version?"))
}

fn in_doubt(why: &str) -> Failure {
    unimported(&Unimported::InDoubt(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an import comes to whose server is ready, says this when all lines are there, and goes away.
    fn import_answered(last: &[u8]) -> Result<u64, Failure> {
        let (client, mut server) = UnixStream::pair().unwrap();
        let last = last.to_vec();
        let server = std::thread::spawn(move || {
            server.write_all(b"{\"answer\":\"ready\"}\n").unwrap();
            let mut sent = Vec::new();
            server.read_to_end(&mut sent).unwrap();
            assert!(sent.ends_with(END_LINE));
            server.write_all(&last).unwrap();
        });
        let imported = import(client, &b"{}\n"[..], false, Progress::new("sent", true), cut_off);
        server.join().unwrap();
        imported.map(|(lines, _)| lines)
    }

    #[test]
    fn an_import_whose_answer_is_broken_is_in_doubt() {
        let whole = b"{\"answer\":\"imported\",\"lines\":1}\n";
        assert_eq!(import_answered(whole).unwrap(), 1);
        let broken = (0..whole.len()).map(|end| &whole[..end]);
        for answer in broken.chain([&b"{\"answer\":\"later\"}\n"[..], b"{\"answer\":\"ready\"}\n", b"\xff\n"])
        {
            let Failure { message, code } = import_answered(answer).unwrap_err();
            let said = String::from_utf8_lossy(answer);
            assert_eq!(code, 1, "{said}");
            assert!(
                message.ends_with(": all of it is there or nothing; look before you import again"),
                "{said}: {message}"
            );
        }
    }
}
