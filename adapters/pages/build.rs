//! Compresses the files of the pages, and extracts those of Swagger UI from its archive.
//!
//! The archive contains the whole upstream repository. Its entries are raw deflate data. With a gzip header and
//! trailer they become gzip members, without being compressed again.

#[path = "build/archive.rs"]
mod archive;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use archive::Archive;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The folder in the archive that contains all files.
const UPSTREAM: &str = "swagger-ui-5.32.6/";

/// The files of the reference that are taken from the archive: the name in the archive, and the name on the page.
const TAKEN: [(&str, &str); 3] = [
    ("dist/swagger-ui-bundle.js", "swagger-ui-bundle.js"),
    ("dist/swagger-ui.css", "swagger-ui.css"),
    ("LICENSE", "licence.txt"),
];

/// The pages: folders of `page/`.
const PAGES: [&str; 2] = ["reference", "console"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=page");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for page in PAGES {
        compress(&Path::new("page").join(page), &folder.join(page));
    }
    let archive = Archive::new(utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED);
    for (entry, name) in TAKEN {
        let entry = format!("{UPSTREAM}{entry}");
        let member =
            archive.gzip_member(&entry).unwrap_or_else(|| panic!("{entry} is in the archive, deflated"));
        write(&folder.join("reference"), name, &member);
    }
}

/// Compresses each file of a page into a folder, which it creates.
fn compress(page: &Path, folder: &Path) {
    fs::create_dir_all(folder).expect("OUT_DIR can be written");
    for entry in fs::read_dir(page).expect("the folder of a page can be read") {
        let path = entry.expect("the folder of a page can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("file names are UTF-8");
        let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&content).expect("memory can be written");
        write(folder, name, &encoder.finish().expect("memory can be written"));
    }
}

fn write(folder: &Path, name: &str, member: &[u8]) {
    fs::write(folder.join(format!("{name}.gz")), member).expect("OUT_DIR can be written");
}
