//! An export has no webhooks, and tells the operator so.

use super::{ALLOW, Shop};
use crate::common::receiver::Receiver;

#[test]
fn an_export_tells_how_many_webhooks_it_leaves_out() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-export", &ALLOW);
    let exported = |shop: &Shop| {
        let done = shop.site.run(&["export", "-"]);
        assert_eq!(done.status.code(), Some(0));
        let lines = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(lines.contains("Rabbits") && !lines.contains(&receiver.url), "{lines}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    shop.new_category("Rabbits");
    assert!(!exported(&shop).contains("webhook"));

    shop.webhook(&receiver.url);
    shop.webhook(&format!("{}/other", receiver.url));
    let by_the_server = exported(&shop);
    assert!(by_the_server.contains("2 webhooks left out of the export"), "{by_the_server}");
    shop.site.stop();
    assert_eq!(exported(&shop), by_the_server);
    let json = shop.site.run(&["export", "lines", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["lines"], &json["webhooksLeftOut"]), (&1.into(), &2.into()), "{json}");
}
