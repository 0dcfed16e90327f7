//! The documents and the pages, as they are printed: each command is run, and the reference page is opened in a browser.

#[path = "../common/mod.rs"]
mod common;

mod browser;
mod monitoring;
mod pages;
mod readme;
mod sandbox_page;
mod shells;
