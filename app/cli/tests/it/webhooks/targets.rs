//! The targets that webhooks may go to, by the settings.

use serde_json::json;

use super::{ALLOW, Shop, id};
use crate::common::receiver::Receiver;

#[test]
fn only_permitted_targets_are_accepted_and_the_refusal_names_the_setting() {
    let mut shop = Shop::open("webhook-targets", &["--webhook-allow", "hooks.internal,other.internal"]);
    let cases = [
        ("http://other.internal:9/", None),
        ("http://hooks.internal/", None),
        ("https://pets.example/", None),
        ("http://pets.example/", Some("webhook-allow")),
        ("https://127.0.0.1/", Some("webhook-allow")),
        ("https://169.254.169.254/", Some("webhook-allow")),
        ("https://[::ffff:10.0.0.1]/", Some("webhook-allow")),
        ("https://2130706433/", Some("url")),
        ("https://user:secret@pets.example/", Some("url")),
    ];
    for (url, named) in cases {
        let answer = shop.ask("POST", "/v1/webhooks", &json!({ "url": url }));
        match named {
            None => assert_eq!(answer.status, 201, "{url}: {}", answer.body),
            Some(named) => {
                assert!(answer.status == 400 && answer.body.contains(named), "{url}: {}", answer.body);
            }
        }
    }
}

#[test]
fn a_server_posts_nothing_to_itself() {
    let mut shop = Shop::open("webhook-own", &ALLOW);
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/v1/pets", shop.site.port);
        let answer = shop.ask("POST", "/v1/webhooks", &json!({ "url": url }));
        assert!(
            answer.status == 400 && answer.body.contains("those of this server"),
            "{url}: {}",
            answer.body
        );
    }
}

#[test]
fn a_target_that_is_no_longer_permitted_gets_nothing() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-refused", &ALLOW);
    let webhook = id(&shop.webhook(&receiver.url));
    shop.site.stop();
    shop.reopen(&[]);
    shop.new_category("Rabbits");
    shop.wait_for(&webhook, &json!({"status": "failing"}));
    let deliveries = shop.get("GET", &format!("/v1/webhooks/{webhook}/deliveries"), &serde_json::Value::Null);
    assert_eq!(deliveries[0]["lastAttempt"]["error"], "address_refused");
    assert!(receiver.delivered().is_empty());
}

#[test]
fn without_webhooks_their_paths_do_not_exist() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-off", &ALLOW);
    let webhook = id(&shop.webhook(&receiver.url));
    shop.site.stop();
    shop.reopen(&["--webhooks", "off"]);
    for path in ["/v1/webhooks".to_owned(), format!("/v1/webhooks/{webhook}")] {
        assert_eq!(shop.ask("GET", &path, &serde_json::Value::Null).status, 404, "{path}");
    }
    shop.new_category("Rabbits");
    assert_eq!(shop.run(&["list"])[0]["lag"], 1, "an operator sees the webhooks");
    shop.site.stop();
    assert!(receiver.delivered().is_empty());
    shop.reopen(&ALLOW);
    receiver.wait(1);
}
