//! Planted bugs of the event log.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use petstore_domain::{
    AccountId, Changes, EventFilter, Happening, ID_MAX, IdempotencyId, Position, RecordRef, Timestamp, View,
};
use petstore_ports::{EventQuery, EventRead, SortDirection, StoreError, Transition};

use super::planted_writes::pause;
use super::{Bug, ReferenceStore, StoreState};

/// The number of positions that [`Bug::PositionsBeforeRecords`] draws for one decision: more than a decision has
/// events.
const DRAWN: u64 = 8;

/// The events of each idempotent request, for [`Bug::ReplayEmitsAgain`].
pub(super) type EmittedByRequest = BTreeMap<IdempotencyId, Changes>;

impl Bug {
    /// Returns whether this bug writes wrong events.
    pub(super) fn is_of_events(self) -> bool {
        use Bug::{
            EventsAfterRecords, EventsAfterReply, EventsBeforeRecords, FirstEventOnly,
            PositionsBeforeRecords, PositionsWithoutEvents, ReplayEmitsAgain,
        };
        matches!(
            self,
            FirstEventOnly
                | PositionsBeforeRecords
                | PositionsWithoutEvents
                | EventsBeforeRecords
                | EventsAfterRecords
                | EventsAfterReply
                | ReplayEmitsAgain
        )
    }

    /// Returns the query of a page. If this bug concerns reading pages, the query is changed.
    pub(super) fn distort_query(self, query: EventQuery) -> EventQuery {
        match self {
            Self::EventEpochIgnored => EventQuery { epoch: None, ..query },
            Self::PrivateEventsShown => {
                EventQuery { filter: EventFilter { account: None, ..query.filter }, ..query }
            }
            Self::SkippingEventPage => EventQuery {
                after: query.after.filter(|after| *after > Position::START).map(|after| match query.order {
                    SortDirection::Ascending => after.next(),
                    SortDirection::Descending => after.before(),
                }),
                ..query
            },
            _ => query,
        }
    }

    /// Returns the filter of a reader that waits. If this bug concerns waking, the filter is changed.
    pub(super) fn distort_wait(self, filter: EventFilter) -> EventFilter {
        // No key of a test belongs to the account with the largest id.
        let stranger = AccountId::new(ID_MAX).ok();
        let account = if self == Self::FeedMissesPrivateEvents { stranger } else { filter.account };
        EventFilter { account, ..filter }
    }

    /// Returns a page. If this bug concerns reading pages, the page is changed.
    pub(super) fn distort_page(self, query: &EventQuery, read: EventRead) -> EventRead {
        match read {
            // The page ends at its last event, so a page without an event does not advance.
            EventRead::Page(mut page) if self == Self::EventPageStuck => {
                let first = match query.order {
                    SortDirection::Ascending => Position::START,
                    SortDirection::Descending => page.bounds.last.next(),
                };
                let start = query.after.unwrap_or(first);
                page.reached = page.events.last().map_or(start, |event| event.id.position);
                EventRead::Page(page)
            }
            read => read,
        }
    }
}

impl ReferenceStore {
    /// Runs a transition with a faulty event log.
    pub(super) async fn transact_with_faulty_events(
        &self,
        bug: Bug,
        transition: &dyn Transition,
    ) -> Result<(), StoreError> {
        match bug {
            Bug::EventsBeforeRecords | Bug::EventsAfterRecords | Bug::EventsAfterReply => {
                self.transact_in_two_steps(bug, transition).await
            }
            Bug::PositionsBeforeRecords => {
                let drawn = self.lock().draw_positions();
                pause().await;
                let mut state = self.lock();
                let changes = state.tables.decide(transition)?.unwrap_or_default();
                let mut position = drawn;
                for happening in changes.happenings() {
                    state.log.insert(position, changes.at(), happening.clone());
                    position = position.next();
                }
                state.apply_records(changes);
                Ok(())
            }
            _ => self.lock().emit_wrongly(bug, transition),
        }
    }

    /// Writes records and events in two steps. Only one writer runs at a time, but readers may run between the steps.
    async fn transact_in_two_steps(&self, bug: Bug, transition: &dyn Transition) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let changes = self.lock().tables.decide(transition)?.unwrap_or_default();
        if bug == Bug::EventsBeforeRecords {
            self.lock().log.append(&changes);
            pause().await;
            self.lock().apply_records(changes);
            return Ok(());
        }
        self.lock().apply_records(changes.clone());
        if bug == Bug::EventsAfterRecords {
            pause().await;
            self.lock().log.append(&changes);
            return Ok(());
        }
        let state = Arc::clone(&self.state);
        tokio::spawn(async move {
            pause().await;
            state.lock().unwrap_or_else(PoisonError::into_inner).log.append(&changes);
        });
        Ok(())
    }
}

impl StoreState {
    /// Adds an event for each pet, as [`Bug::ImportHasEvents`] does.
    pub(super) fn emit_created(&mut self) {
        let pets: Vec<_> = self.tables.pets.values().map(|record| record.pet.clone()).collect();
        for pet in pets {
            self.log.insert(self.log.last.next(), Timestamp::EPOCH, Happening::PetCreated(pet));
        }
    }

    /// Draws the positions for one decision, and returns the first.
    fn draw_positions(&mut self) -> Position {
        let first = self.drawn_positions + 1;
        self.drawn_positions += DRAWN;
        Position::new(first).unwrap_or(Position::MAX)
    }

    fn emit_wrongly(&mut self, bug: Bug, transition: &dyn Transition) -> Result<(), StoreError> {
        let decided = self.tables.decide(transition)?;
        let changes = decided.unwrap_or_default();
        let happenings = changes.happenings();
        match bug {
            Bug::PositionsWithoutEvents if happenings.is_empty() => {
                self.log.extend_to(self.log.last.next());
            }
            Bug::FirstEventOnly => {
                if let Some(first) = happenings.first() {
                    self.log.insert(self.log.last.next(), changes.at(), Happening::clone(first));
                }
            }
            Bug::ReplayEmitsAgain => {
                for record in transition.footprint(&View::default()).records() {
                    let RecordRef::Idempotency(id) = record else { continue };
                    if happenings.is_empty() {
                        self.emitted.get(id).into_iter().for_each(|earlier| self.log.append(earlier));
                    } else {
                        self.emitted.insert(id.clone(), changes.clone());
                    }
                }
                self.log.append(&changes);
            }
            _ => self.log.append(&changes),
        }
        self.apply_records(changes);
        Ok(())
    }
}
