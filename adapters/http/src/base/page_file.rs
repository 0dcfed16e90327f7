//! A file of the reference page: a gzip member, decompressed for clients that do not accept gzip.

use std::io::Read;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use hyper::header::HeaderValue;

/// The maximum number of bytes of a decompressed file.
const PLAIN_MAX: u32 = 16 * 1024 * 1024;

/// A file of the reference page.
#[derive(Debug)]
pub struct PageFile {
    name: &'static str,
    content_type: HeaderValue,
    gzip: Bytes,
    /// The decompressed content. It is produced for the first client that does not accept gzip, and then kept.
    plain: OnceLock<Bytes>,
    /// The CRC-32 and the length of the content.
    trailer: [u8; 8],
}

impl PageFile {
    /// Creates a file from a gzip member. `name` is the part of the path after `/docs/`; it is empty for the page
    /// itself.
    ///
    /// # Panics
    /// If `content_type` is not a valid header value, or the member is too short.
    pub fn new(name: &'static str, content_type: &'static str, gzip: &'static [u8]) -> Self {
        Self {
            name,
            content_type: HeaderValue::from_static(content_type),
            gzip: Bytes::from_static(gzip),
            plain: OnceLock::new(),
            trailer: *gzip.last_chunk().expect("a gzip member ends with eight bytes about its content"),
        }
    }

    /// Creates a file from content that is not compressed yet.
    pub fn of(name: &'static str, content_type: &'static str, content: String) -> Self {
        let mut member = Vec::new();
        let gzip = GzEncoder::new(content.as_bytes(), Compression::best()).read_to_end(&mut member);
        gzip.expect("reading from memory does not fail");
        let trailer = *member.last_chunk().expect("a gzip member ends with eight bytes about its content");
        Self {
            name,
            content_type: HeaderValue::from_static(content_type),
            gzip: member.into(),
            plain: OnceLock::from(Bytes::from(content)),
            trailer,
        }
    }

    /// The last segment of the file's path; empty for the page itself.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) const fn content_type(&self) -> &HeaderValue {
        &self.content_type
    }

    /// The content as a gzip member.
    pub(crate) const fn gzip(&self) -> &Bytes {
        &self.gzip
    }

    /// The CRC-32 and the length of the content. Together they identify the content.
    pub(crate) const fn trailer(&self) -> [u8; 8] {
        self.trailer
    }

    /// The decompressed content.
    ///
    /// # Errors
    /// The gzip member is damaged, or its content is too long.
    pub(crate) fn plain(&self) -> Result<Bytes, &'static str> {
        if let Some(bytes) = self.plain.get() {
            return Ok(bytes.clone());
        }
        let [.., a, b, c, d] = self.trailer;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length > PLAIN_MAX {
            return Err("a file of the reference page is too long to be decompressed");
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let plain = GzDecoder::new(&*self.gzip).take(u64::from(length)).read_to_end(&mut bytes);
        plain.map_err(|_| "a file of the reference page cannot be decompressed")?;
        Ok(self.plain.get_or_init(|| bytes.into()).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gzip member with five bytes in a stored block.
    const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";

    #[test]
    fn a_file_is_decompressed_once() {
        let file = PageFile::new("", "text/plain", HELLO);
        let first = file.plain().unwrap();
        assert_eq!(first, "hello");
        assert_eq!(file.plain().unwrap().as_ptr(), first.as_ptr());
    }

    #[test]
    fn plain_content_is_compressed_without_a_change() {
        let file = PageFile::of("", "text/plain", "hello".repeat(100));
        assert_eq!(file.plain().unwrap(), "hello".repeat(100));
        let gzip = PageFile::new("", "text/plain", file.gzip.to_vec().leak());
        assert_eq!((gzip.plain().unwrap(), gzip.trailer()), (file.plain().unwrap(), file.trailer()));
    }
}
