//! Values as text and numbers.

use std::error::Error;
use std::time::Duration;

use petstore_domain::{Position, Timestamp};
use serde::Serialize;

pub(crate) type Fault = Box<dyn Error>;

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and flags have a JSON form")
}

pub(crate) fn text_of(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

pub(crate) fn time(text: Option<&str>) -> Result<Option<Timestamp>, Fault> {
    Ok(text.map(Timestamp::parse).transpose()?)
}

pub(crate) fn position(number: u64) -> Result<Position, Fault> {
    Position::new(number).ok_or_else(|| "has a position out of range".into())
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
