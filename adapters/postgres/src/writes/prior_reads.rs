//! Reading records beforehand, without locks, for footprints that depend on them.

use std::collections::BTreeSet;

use petstore_domain::RecordRef;
use petstore_ports::StoreError;

use super::batch::Pending;
use super::failure::Failure;
use super::first_flight::read;
use super::footprint::still_grows;
use super::loaded::Loaded;
use super::next_ids::{self, NextIds};
use super::reconnect::Open;
use super::wanted::Wanted;

/// The maximum number of flights that read records beforehand. If one record names the next, each flight reads one more
/// of them.
const FLIGHTS_MAX: usize = 8;

/// Reads records until the footprint of each transition is whole. Transitions that fail are answered and removed.
pub(super) async fn read_beforehand(open: &Open, batch: &mut Vec<Pending>) -> Result<(), Failure> {
    for _ in 0..FLIGHTS_MAX {
        let needed = close(batch);
        if needed.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let references: BTreeSet<&RecordRef> = needed.iter().flatten().collect();
        let mut wanted = Wanted::of(references.iter().copied());
        needed.iter().flatten().filter_map(RecordRef::id_kind).for_each(|kind| wanted.draw(kind));
        let (loaded, mut ids) = read(open, &references, &wanted).await?;
        let mut needed = needed.iter();
        keep(batch, |one| {
            let records = needed.next().map_or(&[][..], Vec::as_slice);
            learn(one, records, &loaded, &mut ids)
        });
    }
    keep(batch, |one| if one.close()?.is_empty() { Ok(()) } else { Err(still_grows()) });
    Ok(())
}

/// Computes the footprints that are not whole. Returns for each transition the records to read first.
fn close(batch: &mut Vec<Pending>) -> Vec<Vec<RecordRef>> {
    let mut needed = Vec::with_capacity(batch.len());
    keep(batch, |one| one.close().map(|records| needed.push(records)));
    needed
}

fn learn(
    one: &mut Pending,
    records: &[RecordRef],
    loaded: &Loaded,
    ids: &mut NextIds,
) -> Result<(), StoreError> {
    for reference in records {
        match reference.id_kind() {
            Some(kind) => {
                let id = ids.take(kind).ok_or_else(|| StoreError::corrupt("a sequence drew too few ids"))?;
                next_ids::load(kind, one.learnt_mut(), id)?;
            }
            None => loaded.show(reference, one.learnt_mut())?,
        }
    }
    Ok(())
}

/// Keeps the transitions for which a step succeeds, and answers the others.
fn keep(batch: &mut Vec<Pending>, mut step: impl FnMut(&mut Pending) -> Result<(), StoreError>) {
    let mut kept = Vec::with_capacity(batch.len());
    for mut one in batch.drain(..) {
        match step(&mut one) {
            Ok(()) => kept.push(one),
            Err(error) => one.answer(Err(error)),
        }
    }
    *batch = kept;
}
