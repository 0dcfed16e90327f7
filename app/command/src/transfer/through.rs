//! Lines through a running server: the client's end of what `admin::Bulk` does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::progress::Progress;
use super::{unimported, unwritten};
use crate::Failure;
use crate::admin::{Answer, Request};
use crate::ndjson::{END_LINE, Unimported};

/// Sends lines to a server, which takes all or none. `fault` is what a failure to read them is called.
pub(super) fn import(
    mut server: UnixStream,
    input: impl Read,
    progress: Progress,
    fault: impl Fn(&io::Error) -> Failure,
) -> Result<u64, Failure> {
    say(&mut server, &Request::Import)?;
    let mut answers = BufReader::new(server.try_clone().map_err(|error| cut_off(&error))?);
    hear(&mut answers)?.understood()?;
    let sent = send_lines(input, &mut server, progress);
    // Closed without the line that ends them, what was sent is dropped.
    let _ = server.shutdown(Shutdown::Write);
    if let Err(Broken::Input(error)) = sent {
        return Err(unimported(&fault(&error).message.into()));
    }
    // The server may refuse a line while we are still sending: why, it says afterwards.
    match outcome(&mut answers)? {
        Answer::Imported { lines } => Ok(lines),
        Answer::Refused { why } => Err(unimported(&Unimported::Nothing(why))),
        Answer::InDoubt { why } => Err(unimported(&Unimported::InDoubt(why))),
        _ => Err(Failure::because("the server answered something else: is it of another version?")),
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
    mut server: UnixStream,
    output: &mut dyn Write,
    mut progress: Progress,
) -> Result<u64, Failure> {
    say(&mut server, &Request::Export)?;
    let mut answers = BufReader::new(server);
    hear(&mut answers)?.understood()?;
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

fn say(server: &mut UnixStream, request: &Request) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    server.write_all(&line).map_err(|error| cut_off(&error))
}

fn hear(answers: &mut impl BufRead) -> Result<Answer, Failure> {
    let mut line = Vec::new();
    answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
    serde_json::from_slice(&line).map_err(|_| Failure::because("the server's answer cannot be read"))
}

/// What has become of an import. All of it may be there, although nobody says so: only the server knows.
fn outcome(answers: &mut impl BufRead) -> Result<Answer, Failure> {
    if answers.fill_buf().is_ok_and(<[u8]>::is_empty) {
        let why = "the server went away before it said what has become of the import";
        return Err(unimported(&Unimported::InDoubt(why.to_owned())));
    }
    hear(answers)
}

fn cut_off(error: &io::Error) -> Failure {
    Failure::because(format!("the server did not answer: {error}"))
}
