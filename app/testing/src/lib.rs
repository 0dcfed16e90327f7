//! A petstore for the tests of an HTTP client: one line starts it on a free port, and it ends with its value.
//!
//! ```
//! use std::time::Duration;
//! use petstore_testing::{Fault, Petstore, Plan};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), petstore_testing::TestingError> {
//! let shop = Petstore::start().await?;
//!
//! // Point the client at `shop.url()`, for example http://127.0.0.1:41237/v1, with `shop.key()`.
//! let key = shop.new_key(Plan::Free).await?;
//! assert_ne!(key, shop.key());
//!
//! // The next request for pets fails. A minute later, quotas and bans of this minute are over.
//! shop.faults().plan([Fault::new().method("GET").route("/pets").first(1).status(503).retry_after(3)]).await?;
//! shop.clock().advance(Duration::from_mins(1)).await?;
//!
//! // Between two tests: the shop as it was at the start, without planned faults.
//! shop.reset().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Without further settings the petstore runs in the process of the test, on separate threads, with its data in memory. With
//! [`Builder::binary`] it is the program `petstore`, which also sends webhooks. Both have the same contract, limits, errors
//! and sandbox.
//!
//! A value may be shared by all tests of a process, also by tests with separate runtimes. Tests that reset the
//! petstore or set its clock must then run one after the other; it is simpler to start a petstore for each test, which takes a
//! few milliseconds.

mod baseline;
mod builder;
mod client;
mod clock;
mod error;
mod exam;
mod exam_process;
mod exam_report;
mod faults;
mod in_process;
mod keys;
mod petstore;
mod program;
mod program_folder;
mod program_start;
mod received;
mod report;
mod requests;
mod runtime;
mod scope;

pub use baseline::BaselineCounts;
pub use builder::Builder;
pub use clock::{ClockReading, ShopClock};
pub use error::TestingError;
pub use exam::Exam;
pub use exam_process::ExamShop;
pub use exam_report::{ExamAnswer, ExamReport, ExamRequest, ExamScenario};
pub use faults::{BodyFault, Fault, FaultPoint, Faults, PlannedFault, QuotaWindow};
pub use keys::NewKey;
pub use petstore::Petstore;
pub use petstore_domain::{Limit, Limits, Plan};
pub use received::{QuotaReading, ReceivedRequest, SentAnswer};
pub use report::{
    BehaviorFinding, BehaviorReport, BehaviorVerdict, ClientBehavior, JudgedRule, ProvingRequest,
};
pub use requests::RequestQuery;
pub use scope::{Scope, ScopeFaults};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// The examples of the page about tests in Rust are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-rust.md")]
struct Page;
