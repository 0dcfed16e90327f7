//! The notation of a row of a table.

/// A name, the bytes, and the expected outcome.
///
/// Placeholders in the bytes: `<get>`, `<post>` and `<patch>` for the head of a good request with its key,
/// without the empty line at its end; `<host>`, `<auth>` and `<json>` for one such field; `<next>` for a whole
/// good request, `<hidden>` for one that must never be answered in its place; `<x*9000>` for this many of a
/// byte, and `<fields*98>` for this many fields.
///
/// The expected outcome, for example `100, 200, 400 invalid_json | open`. An error without a code comes from
/// the parser. After the answers the connection is `open` (it serves another request) or `closed`.
pub(super) type Row = (&'static str, &'static [u8], &'static str);

pub(super) struct Case {
    pub(super) family: &'static str,
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) owed: Outcome,
}

/// The answers that came back or are expected, and the state of the connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Status and code of each answer.
    pub(super) answers: Vec<String>,
    pub(super) is_open: bool,
}

impl Outcome {
    fn parse(text: &str) -> Self {
        let (answers, end) = text.split_once('|').expect("answers and an end");
        let answers = answers.split(',').map(str::trim).filter(|answer| !answer.is_empty());
        let is_open = match end.trim() {
            "open" => true,
            "closed" => false,
            other => panic!("{other} is no end of a row"),
        };
        Self { answers: answers.map(str::to_owned).collect(), is_open }
    }

    /// Returns whether a client that shut its side may see this: a prefix of the expected answers.
    pub(super) fn allows(&self, seen: &Self) -> bool {
        // A request that was cut off is malformed rather than late.
        let same = |seen: &String, owed: &String| {
            seen == owed || (owed == "408 request_timeout" && seen == "400 invalid_json")
        };
        seen.answers.len() <= self.answers.len()
            && seen.answers.iter().zip(&self.answers).all(|(seen, owed)| same(seen, owed))
    }
}

impl Case {
    pub(super) fn of(family: &'static str, (name, bytes, owed): &Row, key: &str) -> Self {
        Self { family, name, bytes: expand(bytes, key), owed: Outcome::parse(owed) }
    }
}

fn expand(row: &[u8], key: &str) -> Vec<u8> {
    let auth = format!("Authorization: Bearer {key}\r\n");
    let head = |line: &str| format!("{line} HTTP/1.1\r\nHost: h\r\n{auth}");
    let mut bytes = Vec::new();
    let mut rest = row;
    while let Some((byte, after)) = rest.split_first() {
        let word = after.iter().position(|byte| *byte == b'>').map(|end| &after[..end]);
        let meaning = match word.filter(|_| *byte == b'<') {
            Some(b"host") => "Host: h\r\n".into(),
            Some(b"auth") => auth.clone().into(),
            Some(b"json") => "Content-Type: application/json\r\n".into(),
            Some(b"get") => head("GET /v1/pets").into(),
            Some(b"post") => (head("POST /v1/categories") + "Content-Type: application/json\r\n").into(),
            Some(b"patch") => head("PATCH /v1/pets/1").into(),
            Some(b"next") => b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(),
            Some(b"hidden") => b"GET /v1/hidden HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(),
            // Distinct fields: the parser counts them, and the limit on their size must not hide the limit on
            // their number.
            Some([b'f', b'i', b'e', b'l', b'd', b's', b'*', times @ ..]) => {
                (0..number(times)).flat_map(|field| format!("X-{field}: y\r\n").into_bytes()).collect()
            }
            Some([byte, b'*', times @ ..]) => {
                vec![*byte; number(times)]
            }
            _ => {
                bytes.push(*byte);
                rest = after;
                continue;
            }
        };
        bytes.extend(meaning);
        rest = &after[word.map_or(0, <[u8]>::len) + 1..];
    }
    bytes
}

fn number(digits: &[u8]) -> usize {
    std::str::from_utf8(digits).unwrap().parse().expect("a number of times")
}
