//! The gzip coding of bodies that are large enough: lists of 1 KiB or more, and the OpenAPI document.

use std::cell::RefCell;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use hyper::HeaderMap;

use crate::response::answer::{Answer, Coding};
use crate::wire;

/// The minimum number of bytes of a body that is compressed. With a smaller body, gzip saves less than one TCP
/// segment.
const COMPRESS_MIN: usize = 1024;

/// The level for a body that is made for one response. The result is nearly as small as that of the best level, and
/// takes half the time.
const PAGE_LEVEL: u32 = 4;

/// The level for a document that is compressed once and kept.
const DOCUMENT_LEVEL: u32 = 9;

/// The header of a gzip member (RFC 1952, section 2.3): deflate, no name, no time, unknown system.
const HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];

/// The compressor of a thread. It is created once, because its tables take a quarter of a MiB.
pub(crate) struct GzipEncoder {
    deflate: RefCell<Option<Compress>>,
}

impl GzipEncoder {
    pub(crate) const fn new() -> Self {
        Self { deflate: RefCell::new(None) }
    }

    /// Compresses a response if it is large enough and the client prefers gzip.
    pub(crate) fn compress(&self, answer: Answer, headers: &HeaderMap) -> Answer {
        let Some(body) = answer.body.whole().filter(|body| is_worth_compressing(body, headers)) else {
            return answer.varying();
        };
        let mut deflate = self.deflate.borrow_mut();
        let deflate = deflate.get_or_insert_with(|| compressor(PAGE_LEVEL));
        deflate.reset();
        match gzip(deflate, body) {
            Some(body) => Answer { body: body.into(), coding: Coding::Gzip, ..answer },
            None => answer.varying(),
        }
    }
}

/// The compressed form of a document, made at the first request for it and kept.
#[derive(Default)]
pub(crate) struct CachedGzip(OnceLock<Option<Bytes>>);

impl CachedGzip {
    /// Returns the document in gzip if it is large enough and the client prefers gzip.
    pub(crate) fn compress(&self, answer: Answer, headers: &HeaderMap) -> Answer {
        let Some(body) = answer.body.whole().filter(|body| is_worth_compressing(body, headers)) else {
            return answer.varying();
        };
        match self.0.get_or_init(|| gzip(&mut compressor(DOCUMENT_LEVEL), body)) {
            Some(body) => Answer { body: body.clone().into(), coding: Coding::Gzip, ..answer },
            None => answer.varying(),
        }
    }
}

/// Returns whether a response should be compressed for a client with these headers.
fn is_worth_compressing(body: &Bytes, headers: &HeaderMap) -> bool {
    body.len() >= COMPRESS_MIN && wire::prefers_gzip(headers)
}

fn compressor(level: u32) -> Compress {
    Compress::new(Compression::new(level), false)
}

/// Returns a gzip member; `None` if it would be longer than its content.
fn gzip(deflate: &mut Compress, body: &[u8]) -> Option<Bytes> {
    let mut member = Vec::with_capacity(body.len());
    member.extend_from_slice(&HEAD);
    let status = deflate.compress_vec(body, &mut member, FlushCompress::Finish);
    if !matches!(status, Ok(Status::StreamEnd)) {
        return None;
    }
    let mut crc = Crc::new();
    crc.update(body);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&crc.amount().to_le_bytes());
    Some(member.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use hyper::StatusCode;
    use hyper::header::{ACCEPT_ENCODING, HeaderValue};

    use super::*;

    fn asks(codings: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(codings))])
    }

    fn page(bytes: usize) -> Vec<u8> {
        br#"{"name":"Hazel","id":1},"#.iter().copied().cycle().take(bytes).collect()
    }

    #[test]
    fn compressed_bodies_can_be_decompressed_again_and_again() {
        let encoder = GzipEncoder::new();
        for length in [COMPRESS_MIN, 5_000, COMPRESS_MIN, 400_000] {
            let answer = encoder.compress(Answer::json(StatusCode::OK, page(length)), &asks("gzip"));
            assert!(answer.coding == Coding::Gzip && answer.body.len() < length / 4, "{}", answer.body.len());
            let mut plain = vec![];
            GzDecoder::new(answer.body.whole().unwrap().as_ref()).read_to_end(&mut plain).unwrap();
            assert_eq!(plain, page(length));
        }
    }

    #[test]
    fn short_or_incompressible_or_unwanted_bodies_are_not_compressed() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        })
        .take(5_000)
        .collect();
        let cases = [(page(COMPRESS_MIN - 1), "gzip"), (page(5_000), "identity"), (page(5_000), "gzip;q=0")];
        for (body, codings) in cases {
            let answer =
                GzipEncoder::new().compress(Answer::json(StatusCode::OK, body.clone()), &asks(codings));
            assert_eq!(
                (answer.coding, answer.body.whole()),
                (Coding::Plain, Some(&Bytes::from(body))),
                "{codings}"
            );
        }
        assert_eq!(gzip(&mut compressor(PAGE_LEVEL), &noise), None);
    }

    #[test]
    fn a_document_is_compressed_once() {
        let cached = CachedGzip::default();
        let compress = || cached.compress(Answer::json(StatusCode::OK, page(5_000)), &asks("gzip")).body;
        assert_eq!(compress().whole().unwrap().as_ptr(), compress().whole().unwrap().as_ptr());
    }

    /// A list of this many items, each with its number.
    fn list(items: usize, item: impl Fn(usize) -> String) -> Vec<u8> {
        format!("[{}]", (1..=items).map(item).collect::<Vec<_>>().join(",")).into()
    }

    #[test]
    #[ignore = "a measurement, which it prints: to be run by hand, of a release build"]
    #[expect(clippy::disallowed_methods, reason = "it is time that is measured")]
    fn cost_of_each_level() {
        let prose: String =
            include_str!("../../../../openapi.yaml").split_whitespace().collect::<Vec<_>>().join(" ");
        let prose: String = prose.chars().filter(|char| char.is_ascii() && *char != '"').collect();
        let pet =
            |id| format!(r#"{{"name":"Hazel {id}","categoryId":{},"status":"available","id":{id}}}"#, id % 8);
        let order = |id| {
            let (pet, day) = (id * 7 % 900, 10 + id % 19);
            let date = format!("2027-0{}-{day}T0{}:{day}:{day}.000Z", id % 9 + 1, id % 7);
            format!(
                r#"{{"id":{id},"petId":{pet},"quantity":{},"shipDate":"{date}","complete":false}}"#,
                id % 5 + 1
            )
        };
        let category = |id| {
            let begin = id * 1_000 % (prose.len() - 1_000);
            format!(r#"{{"name":"Kind {id}","description":"{}","id":{id}}}"#, &prose[begin..begin + 1_000])
        };
        for body in
            [list(16, pet), list(100, pet), list(100, order), list(100, category), list(1_000, category)]
        {
            println!("{} bytes", body.len());
            for level in 1..=9 {
                let mut deflate = compressor(level);
                let mut times: Vec<_> = (0..(20_000_000 / body.len()).min(5_000))
                    .map(|_| {
                        let begun = std::time::Instant::now();
                        deflate.reset();
                        let member = gzip(&mut deflate, &body).unwrap();
                        (begun.elapsed(), member.len())
                    })
                    .collect();
                times.sort_unstable();
                let (time, length) = times[times.len() / 2];
                println!("  level {level}: {length} bytes in {time:?}");
            }
        }
    }
}
