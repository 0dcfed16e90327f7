//! The clock of a petstore.

use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::SandboxClient;
use crate::error::TestingError;

const PATH: &str = "/sandbox/clock";

/// The clock of a petstore. As its time passes, quotas are renewed, bans end, keys expire, and kept answers are deleted.
#[derive(Debug, Clone)]
pub struct ShopClock<'a>(pub(crate) &'a SandboxClient);

/// The state of a clock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ClockReading {
    /// The time, for example `2030-01-01T12:00:00.000Z`.
    pub now: String,
    /// `true` while the clock is stopped.
    pub frozen: bool,
}

impl ShopClock<'_> {
    /// Reads the clock.
    ///
    /// # Errors
    /// The petstore did not answer, as in all methods of this type.
    pub async fn read(&self) -> Result<ClockReading, TestingError> {
        self.0.read(Method::GET, PATH, None).await
    }

    /// Sets the clock ahead by this much.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn advance(&self, by: Duration) -> Result<ClockReading, TestingError> {
        self.change(&json!({"advance": format!("{}ms", by.as_millis())})).await
    }

    /// Sets the clock to a time in RFC 3339 form, for example `2030-12-05T00:00:01Z`. If it is set back, windows, strikes and
    /// bans begin again.
    ///
    /// # Errors
    /// The text is not a time with an offset, or the petstore did not answer.
    pub async fn set(&self, time: &str) -> Result<ClockReading, TestingError> {
        self.change(&json!({"set": time})).await
    }

    /// Stops the clock, so that no minute ends during a test.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn freeze(&self) -> Result<ClockReading, TestingError> {
        self.change(&json!({"freeze": true})).await
    }

    /// Lets the clock run on from its present time.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn run(&self) -> Result<ClockReading, TestingError> {
        self.change(&json!({"freeze": false})).await
    }

    /// Sets the clock to the time of the machine, and lets it run.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn restore(&self) -> Result<ClockReading, TestingError> {
        self.0.read(Method::DELETE, PATH, None).await
    }

    async fn change(&self, change: &Value) -> Result<ClockReading, TestingError> {
        self.0.read(Method::POST, PATH, Some(change)).await
    }
}
