//! Jumps of the machine's clock under a running server: an hour back, a day forward, and back again. Each jump admits
//! at most the requests of one new window. In another test the clock is years ahead until the next start.

use crate::common::machine_clock::{MachineClock, library};
use crate::common::{Client, Site};

/// The Free plan's requests a minute.
const MINUTE: usize = 60;

/// Returns the number of requests that are admitted before three are refused. The count ends after three refusals,
/// because each is a strike.
fn admitted(site: &Site, key: &str) -> usize {
    let mut client = Client::connect(site.port, key).unwrap();
    let mut admitted = 0;
    let mut refused = 0;
    while refused < 3 {
        match client.ask("GET", "/v1/pets?limit=1", "", "").unwrap().status {
            200 => admitted += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
        assert!(admitted <= 3 * MINUTE, "requests are not limited");
    }
    admitted
}

#[test]
fn a_clock_that_was_years_ahead_has_no_effect_after_the_next_start() {
    let Some(library) = library() else { return };
    let mut site = Site::new("ahead");
    let clock = MachineClock::new(library, site.folder.join("time"));
    let mut key = String::new();
    for (moment, windows) in [
        ("2040-01-01 00:00:10", 1),
        // The clock was a few days ahead, and is corrected at this start. An error of up to a week grants no requests.
        ("2039-12-26 00:00:10", 0),
        // The clock of this machine is not set yet.
        ("1970-01-01 00:00:10", 0),
        ("2030-01-01 00:00:10", 1),
        ("2030-01-01 00:00:20", 0),
        ("2030-01-01 00:01:10", 1),
    ] {
        clock.set(&format!("@{moment}"));
        site.serve(&[], &clock.variables());
        if key.is_empty() {
            let made = site.run(&["keys", "create", "--plan", "free", "--quiet"]);
            key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        }
        assert_eq!(admitted(&site, &key), windows * MINUTE, "at {moment}");
        site.stop();
    }
}

#[test]
fn a_clock_that_steps_admits_at_most_one_new_window() {
    let Some(library) = library() else { return };
    let mut site = Site::new("clock");
    let clock = MachineClock::new(library, site.folder.join("time"));
    let set = |moment: &str| clock.set(&format!("@{moment}"));
    set("2030-01-01 23:58:10");
    site.serve(&[], &clock.variables());
    let made = site.run(&["keys", "create", "--plan", "free", "--quiet"]);
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert_eq!(admitted(&site, &key), MINUTE);
    for (moment, windows) in [
        // A jump of an hour back admits no request.
        ("2030-01-01 22:58:10", 0),
        ("2030-01-01 23:58:20", 0),
        // After midnight UTC there is a new minute in a new day.
        ("2030-01-02 00:00:05", 1),
        ("2030-01-01 23:59:50", 0),
        // The clock jumps a day forward, and back.
        ("2030-01-03 00:00:05", 1),
        ("2030-01-02 00:00:10", 0),
        ("2030-01-03 00:00:30", 0),
    ] {
        set(moment);
        assert_eq!(admitted(&site, &key), windows * MINUTE, "at {moment}");
    }
    site.stop();
}
