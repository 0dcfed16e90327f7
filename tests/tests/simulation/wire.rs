//! A client's side of HTTP/1.1: sends the bytes of a request, and reads one answer.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::link::End;
use crate::oracle::Answer;

/// Reads one answer. Later bytes stay in the buffer.
pub(crate) async fn read_answer(end: &mut End, buffer: &mut Vec<u8>, head_only: bool) -> io::Result<Answer> {
    let head = loop {
        if let Some(place) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break place + 4;
        }
        read_some(end, buffer).await?;
    };
    let text = String::from_utf8(buffer[..head].to_vec()).map_err(|_| malformed())?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let status = status.ok_or_else(malformed)?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        // The header `date` is left out, because it depends on the machine's clock.
        .filter(|(name, _)| !name.eq_ignore_ascii_case("date"))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let length = if head_only || matches!(status, 204 | 304) { 0 } else { length };
    while buffer.len() < head + length {
        read_some(end, buffer).await?;
    }
    answer.body = buffer[head..head + length].to_vec();
    buffer.drain(..head + length);
    Ok(answer)
}

async fn read_some(end: &mut End, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut some = [0; 4096];
    let count = end.read(&mut some).await?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    buffer.extend_from_slice(&some[..count]);
    Ok(())
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Sends all of a request, and then closes the stream if `is_last`.
pub(crate) async fn send(end: &mut End, bytes: &[u8], is_last: bool) -> io::Result<()> {
    end.write_all(bytes).await?;
    if is_last {
        end.shutdown().await?;
    }
    Ok(())
}
