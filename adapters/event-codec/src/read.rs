//! Reading a body.

use std::ops::{ControlFlow, RangeInclusive};

use petstore_domain::{EventFilter, Happening, Position, Timestamp};

use crate::reader::{Reader, damaged};
use crate::{BodyError, VERSION, wire};

/// Receives the events that pass the filter, one by one, until it returns `Break`.
pub type Visit<'a> = &'a mut (dyn FnMut(Position, Timestamp, Happening) -> ControlFlow<()> + 'a);

/// Reads a body that is stored under these positions, and passes the events that the filter admits to `visit`. The other
/// events are decoded without an allocation.
///
/// # Errors
/// [`BodyError::UnknownFormat`], and [`BodyError::Damaged`], also if the numbers of events and positions differ. `visit`
/// has already received the events before the damage.
pub fn read(
    body: &[u8],
    positions: RangeInclusive<Position>,
    filter: &EventFilter,
    visit: Visit<'_>,
) -> Result<(), BodyError> {
    let expected = (positions.end().get() + 1).saturating_sub(positions.start().get());
    let (format, rest) = body.split_first().ok_or_else(|| damaged("it is empty"))?;
    let form = u32::from(*format);
    if !(1..=VERSION).contains(&form) {
        return Err(BodyError::UnknownFormat(*format));
    }
    let mut rest = Reader::new(rest, form);
    let (mut position, mut found) = (*positions.start(), 0);
    while !rest.is_at_end() {
        let (millis, count): (i64, u32) = rest.plain()?;
        let at = Timestamp::from_millis(millis).map_err(|error| damaged(&error.to_string()))?;
        found += u64::from(count);
        if found > expected {
            return Err(damaged(&format!("it has more events than its {expected} positions")));
        }
        for _ in 0..count {
            if let Some(happening) = wire::read(&mut rest, filter)?
                && visit(position, at, happening).is_break()
            {
                return Ok(());
            }
            position = position.next();
        }
    }
    if found < expected {
        return Err(damaged(&format!("it has {found} events for {expected} positions")));
    }
    Ok(())
}
