//! Numbers with bounds.

/// A number outside the range that its field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeError {
    /// The smallest accepted number.
    pub min: i64,
    /// The largest accepted number.
    pub max: i64,
    /// `true` if 0 is refused although it is between `min` and `max`.
    pub but_not_zero: bool,
}

impl RangeError {
    pub(crate) fn check(number: i64, min: i64, max: i64) -> Result<u32, Self> {
        let refused = Self { min, max, but_not_zero: false };
        if !(min..=max).contains(&number) {
            return Err(refused);
        }
        u32::try_from(number).map_err(|_| refused)
    }
}

impl std::fmt::Display for RangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let but = if self.but_not_zero { " and not 0" } else { "" };
        write!(f, "must be between {} and {}{but}", self.min, self.max)
    }
}

impl std::error::Error for RangeError {}
