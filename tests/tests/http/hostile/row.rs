//! The notation of a row of a table.

/// A name, the bytes, and the expected outcome.
///
/// The bytes may have placeholders: `<get>`, `<post>` and `<patch>` are the head of a valid request with its key, but
/// without the final empty line; `<host>`, `<auth>` and `<json>` are one valid field; `<next>` is a whole valid
/// request; `<hidden>` is a whole request that must never be answered; `<x*9000>` is one character 9,000 times, and
/// `<fields*98>` is 98 different fields.
///
/// An expected outcome is, for example, `100, 200, 400 invalid_json | open`. An error without a code comes from hyper's
/// parser. After the answers the connection is `open`, that is, it serves another request, or it is `closed`.
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

    /// Returns whether the answers in `seen` are correct for a client that closed its sending side. They must be the
    /// first of the answers expected here; the last ones may be missing.
    pub(super) fn allows(&self, seen: &Self) -> bool {
        // A body that the end of the input cuts off is malformed. On a connection that stays open the same body would
        // be late.
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
            // The names of the fields differ, because the parser's limit is on the number of different fields. The
            // fields are short, so that their number exceeds this limit before their total size exceeds the limit of a
            // head.
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
