//! The outcomes and scopes of idempotency records, and webhooks with their deliveries, as text, for stores that keep them
//! where SQL can query them.
//!
//! ```
//! use petstore_domain::{IdempotencyScope, Outcome, PetId, PetStatus};
//!
//! let sold = Outcome::PetNotAvailable(PetStatus::Sold);
//! let text = petstore_outcome_json::write(&sold);
//! assert_eq!(text, r#"{"pet_not_available":{"status":"sold"}}"#);
//! assert_eq!(petstore_outcome_json::parse(&text).unwrap(), sold);
//!
//! let scope = IdempotencyScope::AdjustStock(PetId::FIRST);
//! assert_eq!(petstore_outcome_json::scope_text(scope), "adjust_stock:1");
//! assert_eq!(petstore_outcome_json::parse_scope("adjust_stock:1"), Some(scope));
//! ```

mod members;
mod outcome;
mod progress;
mod scope;
mod text;
mod webhook;

pub use outcome::{parse, repaired, write, write_in};
pub use progress::{parse_progress, write_progress};
pub use scope::{parse_scope, scope_text};
pub use webhook::{parse_attempts, parse_webhooks, write_attempts, write_webhooks};
