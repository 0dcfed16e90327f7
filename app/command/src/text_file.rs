//! Text files that people edit: their size, byte order marks, and encodings other than UTF-8.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use petstore_shop_lines::{UTF_16, is_utf_16};

/// A byte order mark, which some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns a text without the byte order mark before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The bound of a kind of files. A device or a pipe may have no end, and its size is not known before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBound {
    /// The most bytes.
    pub(crate) bytes: u64,
    /// The content of such a file, for messages.
    pub(crate) content: &'static str,
}

impl FileBound {
    /// The bound of a file with one secret: a key, a password or the secret of a webhook.
    pub(crate) const fn secret(content: &'static str) -> Self {
        Self { bytes: 16 * 1024, content }
    }

    /// Reads a file.
    pub(crate) fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_from(File::open(path)?)
    }

    /// Reads an open file or standard input to its end.
    pub(crate) fn read_from(self, source: impl io::Read) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        source.take(self.bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.bytes {
            let Self { bytes, content } = self;
            let why = format!("it has more than {bytes} bytes: name a file with {content}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    }
}

/// Reads a text file, without the byte order mark before it.
pub(crate) fn read(path: &Path, bound: FileBound) -> io::Result<String> {
    let bytes = bound.read(path)?;
    if is_utf_16(&bytes) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, UTF_16));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not in UTF-8: save it as UTF-8"))?;
    Ok(without_mark(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_long_is_refused() {
        let path = std::env::temp_dir().join(format!("petstore-text-file-{}", std::process::id()));
        let read_with = |length: u64| {
            let bound = FileBound::secret("the key alone");
            std::fs::write(&path, "x".repeat(usize::try_from(bound.bytes + length).unwrap())).unwrap();
            read(&path, bound)
        };
        let (fits, refused) = (read_with(0), read_with(1));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(fits.unwrap().len(), 16_384);
        let why = refused.unwrap_err().to_string();
        assert_eq!(why, "it has more than 16384 bytes: name a file with the key alone");
    }

    #[test]
    fn one_byte_order_mark_at_the_beginning_is_removed() {
        assert_eq!(without_mark("\u{feff}a\u{feff}"), "a\u{feff}");
        assert_eq!(without_mark("a"), "a");
    }
}
