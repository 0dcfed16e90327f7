//! Recorded bodies: their first bytes, and their length.

use std::borrow::Cow;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use crate::masking::{masked, masked_compressed, masked_part};

/// The first bytes of a body that is compressed with gzip. No text begins with them.
const GZIP_START: &[u8] = b"\x1f\x8b";

/// The first bytes of a body, with secrets masked, and the length of the whole body.
#[derive(Debug, Clone, Default)]
pub struct RecordedBody {
    kept: Box<[u8]>,
    bytes: u64,
    is_cut: bool,
    is_masked: bool,
}

impl RecordedBody {
    /// Records the first bytes of a body. `bytes` is the length of the whole body.
    pub fn new(first: Vec<u8>, bytes: u64) -> Self {
        let is_cut = bytes > first.len() as u64;
        let shown = if first.starts_with(GZIP_START) {
            masked_compressed(&first, is_cut)
        } else if is_cut {
            masked_part(&first)
        } else {
            masked(&first)
        };
        let (kept, is_masked) = match shown {
            Cow::Owned(shown) => (shown, true),
            Cow::Borrowed(_) => (first, false),
        };
        Self { kept: kept.into(), bytes, is_cut, is_masked }
    }

    /// Returns the bytes that are kept.
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Returns the length of the whole body.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if the body was longer than the bytes that are kept.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns `true` if a secret in the bytes that are kept was masked.
    pub fn is_masked(&self) -> bool {
        self.is_masked
    }

    /// Returns the body as text if it is UTF-8; a character that was cut off at the end is left out. `is_gzip` is `true`
    /// if the body is compressed.
    pub fn text(&self, is_gzip: bool) -> Option<Cow<'_, str>> {
        if is_gzip {
            return self.decompressed().map(Cow::Owned);
        }
        utf8(&self.kept, self.is_cut).map(Cow::Borrowed)
    }

    /// Returns the kept bytes in Base64.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.kept)
    }

    /// Returns the text of a compressed body, as far as its kept bytes hold it.
    fn decompressed(&self) -> Option<String> {
        /// The maximum length of the text. Lists of the API are shorter.
        const TEXT_MAX: u64 = 1024 * 1024;
        let mut text = Vec::new();
        let read = GzDecoder::new(&*self.kept).take(TEXT_MAX).read_to_end(&mut text);
        // A body that was cut off ends with an error after its last complete block.
        if read.is_err() && !self.is_cut {
            return None;
        }
        let is_cut = self.is_cut || text.len() as u64 == TEXT_MAX;
        let shown = if is_cut { masked_part(&text) } else { masked(&text) };
        let len = utf8(&shown, is_cut)?.len();
        let mut text = match shown {
            Cow::Owned(shown) => shown,
            Cow::Borrowed(_) => text,
        };
        text.truncate(len);
        String::from_utf8(text).ok()
    }
}

/// Returns bytes as text; if they were cut off, without an incomplete character at the end.
fn utf8(bytes: &[u8], is_cut: bool) -> Option<&str> {
    match str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_character_that_was_cut_off_is_left_out_and_other_bytes_are_not_text() {
        let whole = "Mähne".as_bytes();
        assert_eq!(RecordedBody::new(whole.to_vec(), 6).text(false).as_deref(), Some("Mähne"));
        assert_eq!(RecordedBody::new(whole[..2].to_vec(), 6).text(false).as_deref(), Some("M"));
        assert_eq!(RecordedBody::new(whole[..2].to_vec(), 2).text(false), None, "it was sent like that");
        assert_eq!(RecordedBody::new(b"a\xFFb".to_vec(), 90).text(false), None);
        assert_eq!(RecordedBody::new(b"a\xFFb".to_vec(), 3).base64(), "Yf9i");
    }

    #[test]
    fn a_compressed_body_is_shown_as_text_also_if_it_was_cut_off() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Text that does not compress well, so that a part of it is more than the header.
        let numbers: Vec<_> = (0..20_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_string()).collect();
        let text = numbers.join(",");
        encoder.write_all(text.as_bytes()).unwrap();
        let gzip = encoder.finish().unwrap();
        let body = RecordedBody::new(gzip.clone(), gzip.len() as u64);
        assert_eq!(body.text(true).as_deref(), Some(&*text));
        let cut = RecordedBody::new(gzip[..gzip.len() / 2].to_vec(), gzip.len() as u64);
        let shown = cut.text(true).unwrap();
        assert!(shown.len() > 1_000 && text.starts_with(&*shown));
        assert_eq!(RecordedBody::new(gzip[..40].to_vec(), 40).text(true), None);
    }

    #[test]
    fn bytes_of_a_compressed_body_are_not_taken_for_a_url() {
        // The name of a file in the head of gzip has the bytes by which user information of a URL is found.
        let mut encoder = flate2::GzBuilder::new().filename("a://x@").write(Vec::new(), Compression::fast());
        encoder.write_all(b"see http://me:pw@h/").unwrap();
        let gzip = encoder.finish().unwrap();
        let body = RecordedBody::new(gzip.clone(), gzip.len() as u64);
        assert_eq!(body.kept(), gzip);
        assert_eq!(body.text(true).as_deref(), Some("see http://...@h/"));
    }
}
