//! The master key: where it is kept, and how it is made.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petstore_platform::{create_private, sync_readable_folder};

/// The number of bytes of a key.
const BYTES: usize = 32;

/// The maximum size of a key file. A longer one is another file by mistake.
const FILE_MAX: u64 = 4_096;

/// The key from which the secrets of all webhooks are derived.
#[derive(Clone, Copy)]
pub struct MasterKey([u8; BYTES]);

/// The reason why a key file is of no use.
#[derive(Debug)]
pub struct MasterKeyError {
    file: PathBuf,
    why: String,
}

impl std::fmt::Display for MasterKeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.why)
    }
}

impl std::error::Error for MasterKeyError {}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl MasterKey {
    /// Returns the key with these random bytes.
    pub const fn from_entropy(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub(super) const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Reads a key file: base64 of 32 bytes, as `openssl rand -base64 32` prints it. Returns none if there is no such
    /// file.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file cannot be read, or holds no key.
    pub fn read(file: &Path) -> Result<Option<Self>, MasterKeyError> {
        let error = |why: String| MasterKeyError { file: file.to_owned(), why };
        let unreadable = |cause: io::Error| error(format!("the webhook key cannot be read: {cause}"));
        let opened = match fs::File::open(file) {
            Ok(opened) => opened,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(unreadable(cause)),
        };
        let mut text = vec![];
        opened.take(FILE_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > FILE_MAX {
            return Err(error("the file is too long for a webhook key".to_owned()));
        }
        let decoded = STANDARD.decode(text.trim_ascii()).ok();
        let key = decoded.and_then(|bytes| bytes.try_into().ok()).map(Self);
        let form = "the file holds no webhook key: expected base64 of 32 bytes, as `openssl rand -base64 32` prints it";
        key.map(Some).ok_or_else(|| error(form.to_owned()))
    }

    /// Writes the key to a file that does not exist yet, with mode 0600. If another process has made the file meanwhile,
    /// returns the key in it. The file is either complete or absent, also after a power cut.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file cannot be written.
    pub fn keep(self, file: &Path) -> Result<Self, MasterKeyError> {
        let unwritten = |cause: io::Error| MasterKeyError {
            file: file.to_owned(),
            why: format!("the webhook key cannot be written: {cause}"),
        };
        let mut partial = file.as_os_str().to_owned();
        partial.push(format!(".{}.new", std::process::id()));
        let partial = PathBuf::from(partial);
        let written = self.write(&partial).and_then(|()| match fs::hard_link(&partial, file) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        });
        // A leftover would only be a key that nothing uses.
        let _ = fs::remove_file(&partial);
        written.map_err(unwritten)?;
        let folder = std::path::absolute(file).ok().and_then(|file| file.parent().map(Path::to_owned));
        if let Some(folder) = folder {
            sync_readable_folder(&folder).map_err(unwritten)?;
        }
        let lost = || unwritten(io::Error::other("it was removed at once"));
        Self::read(file)?.ok_or_else(lost)
    }

    fn write(self, file: &Path) -> io::Result<()> {
        // A process with the same id may have left one when it was killed.
        match fs::remove_file(file) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
        let mut output = create_private(file)?;
        writeln!(output, "{}", STANDARD.encode(self.0))?;
        output.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use petstore_platform::mode_at;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("petstore-webhook-key-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn the_first_key_stays() {
        let folder = folder("first");
        let file = folder.join("webhook-key");
        assert!(MasterKey::read(&file).unwrap().is_none());
        let kept = MasterKey::from_entropy([1; 32]).keep(&file).unwrap();
        assert_eq!(kept.bytes(), &[1; 32]);
        let other = MasterKey::from_entropy([2; 32]).keep(&file).unwrap();
        assert_eq!(other.bytes(), &[1; 32], "another process was first");
        assert!(mode_at(&file).is_none_or(|mode| mode == 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no other file is left");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_without_a_key_is_refused() {
        let folder = folder("refused");
        let file = folder.join("webhook-key");
        for text in [
            "",
            "\n",
            "not base64",
            "AAAA",
            &STANDARD.encode([0; 31]),
            &STANDARD.encode([0; 33]),
            &"A".repeat(5_000),
        ] {
            fs::write(&file, text).unwrap();
            let error = MasterKey::read(&file).unwrap_err().to_string();
            assert!(error.contains("webhook key"), "{text:?}: {error}");
        }
        fs::write(&file, STANDARD.encode([3; 32]) + "\n").unwrap();
        assert_eq!(MasterKey::read(&file).unwrap().unwrap().bytes(), &[3; 32]);
        let missing = folder.join("nowhere/webhook-key");
        let error = MasterKey::from_entropy([1; 32]).keep(&missing).unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
