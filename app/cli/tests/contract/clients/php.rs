use std::process::Command;

use super::{files, generated, has_library, run, source, tour};
use crate::common::tools;

#[test]
fn a_php_client_is_generated_checked_and_used() {
    let Some(client) = generated::client("php").filter(|_| tools::can_run("php", "--version")) else {
        return;
    };
    if !has_library("/usr/share/php/GuzzleHttp/autoload.php") {
        return;
    }
    for file in files(&client.join("lib"), "php") {
        run(Command::new("php").arg("-l").arg(file));
    }
    let tour_file = source("tests/clients/php/tour.php");
    tour("php", Command::new("php").arg("-derror_reporting=E_ALL").arg(tour_file).arg(client.join("lib")));
}
