//! The pages of the petstore as files for any server: the reference at `/docs`, and the console of a sandbox.
//!
//! This crate only contains files: the server chooses paths and headers. Each file is a gzip member, which every
//! browser accepts and which takes a third of the space.

pub mod console;
pub mod reference;

/// A file of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The path below the page's files; empty for the page itself.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content, as one gzip member.
    pub gzip: &'static [u8],
}

/// Declares the files of a page, which the build script has compressed in a folder named like the page.
macro_rules! files {
    ($page:literal: $($name:literal $content_type:literal from $source:literal)*) => {
        /// The files of the page.
        pub const FILES: &[crate::File] = &[$(crate::File {
            name: $name,
            content_type: $content_type,
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/", $page, "/", $source, ".gz")),
        },)*];
    };
}

use files;
