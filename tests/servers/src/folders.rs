//! Temporary folders.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Creates a folder for the data of a server of this kind.
pub(crate) fn new_folder(kind: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The name is short, because the path of a Unix socket has at most 107 bytes.
    let folder = std::env::temp_dir().join(format!("petstore-{kind}-{}-{number}", std::process::id()));
    fs::create_dir(&folder).expect("a temporary folder can be made");
    folder
}
