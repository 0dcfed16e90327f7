//! Compresses the files of the console.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=page");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for entry in fs::read_dir("page").expect("page/ can be read") {
        let path = entry.expect("page/ can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("file names are UTF-8");
        let content = fs::read(&path).unwrap_or_else(|error| panic!("page/{name}: {error}"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&content).expect("memory can be written");
        let member = encoder.finish().expect("memory can be written");
        fs::write(folder.join(format!("{name}.gz")), member).expect("OUT_DIR can be written");
    }
}
