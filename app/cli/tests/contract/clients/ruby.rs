use std::process::Command;

use super::{files, generated, has_library, run, source, tour};
use crate::common::tools;

/// The client's HTTP library, as Debian installs it.
const TYPHOEUS: &str = "/usr/share/rubygems-integration/all/specifications/typhoeus-1.4.0.gemspec";

#[test]
fn a_ruby_client_is_generated_checked_and_used() {
    let Some(client) = generated::client("ruby").filter(|_| tools::can_run("ruby", "--version")) else {
        return;
    };
    if !has_library(TYPHOEUS) {
        return;
    }
    let library = client.join("lib");
    for file in files(&library, "rb") {
        run(Command::new("ruby").arg("-c").arg(file));
    }
    tour("ruby", Command::new("ruby").arg("-I").arg(library).arg(source("tests/clients/ruby/tour.rb")));
}
