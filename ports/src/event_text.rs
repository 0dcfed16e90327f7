//! Events as the JSON that receivers of webhooks get, as a port.

use petstore_domain::Event;

/// Writes events as JSON. The transport that lists events implements it, so that both have the same form.
///
/// ```
/// use petstore_domain::Event;
/// use petstore_ports::EventText;
///
/// /// A form with the id alone.
/// struct Ids;
///
/// impl EventText for Ids {
///     fn json(&self, event: &Event, is_test: bool) -> Vec<u8> {
///         format!(r#"{{"id":"{}","test":{is_test}}}"#, event.id).into_bytes()
///     }
/// }
/// ```
pub trait EventText: Send + Sync {
    /// The event on one line. A sample event, which is in no log, is marked as a test.
    fn json(&self, event: &Event, is_test: bool) -> Vec<u8>;
}
