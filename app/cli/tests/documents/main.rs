//! The documents and the pages: each command is run as printed, and the reference page is opened in a browser.

#[path = "../common/mod.rs"]
mod common;

mod agent_clients;
mod browser;
mod containers;
mod events_in_rust;
mod monitoring;
mod nodes_pages;
mod pages;
mod pictures;
mod readme;
mod sandbox_page;
mod shells;
mod verify_in_rust;
