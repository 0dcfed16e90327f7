//! The settings of webhooks, as a start reports them.

use super::refused;
use crate::common::Site;

/// Starts a server whose key file holds no key, and returns its log.
fn log_of(name: &str, args: &[&str]) -> String {
    let site = Site::new(&format!("acts-webhooks-{name}"));
    std::fs::write(site.folder.join("no-key"), "no key").unwrap();
    let common = ["--db", "memory", "--webhook-key-file", "no-key", "--log-format", "text"];
    site.log_of_start(&[&common[..], args].concat(), &[])
}

pub(crate) fn start() {
    let on = log_of("on", &["--webhook-allow", "10.0.0.0/8,hooks.internal"]);
    assert!(on.contains("webhooks are not delivered: no-key: the file holds no webhook key"), "{on}");
    assert!(on.contains("webhook-allow (10.0.0.0/8,hooks.internal, --webhook-allow)"), "{on}");
    let off = log_of("off", &["--webhook-allow", "10.0.0.0/8", "--webhooks", "off"]);
    assert!(!off.contains("webhook"), "{off}");
    assert!(refused(&["--db", "memory", "--webhook-ca", "/dev/null"]).contains("webhook-ca"));
    assert!(refused(&["--db", "memory", "--webhook-allow", "http://a"]).contains("expected a host"));
}
