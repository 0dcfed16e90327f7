//! Faulty event logs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, View, happenings};
use petstore_ports::{
    EventBatch, EventBatchReader, EventBounds, EventQuery, EventRange, EventRead, EventReader, Reply,
    StoreError, Transactor, Transition,
};

use super::Bug;

/// A reader that shows private events to every account, or leaves out the first event of every other page.
pub(crate) struct FaultyReader {
    bug: Bug,
    inner: Arc<dyn EventReader>,
    pages: AtomicU64,
}

impl FaultyReader {
    pub(crate) fn new(bug: Bug, inner: Arc<dyn EventReader>) -> Self {
        Self { bug, inner, pages: AtomicU64::new(0) }
    }
}

impl EventReader for FaultyReader {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.inner.bounds()
    }

    fn read(&self, mut query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        if self.bug == Bug::ShowsPrivateEvents {
            query.filter.account = None;
        }
        let skips =
            self.bug == Bug::SkipsEvents && self.pages.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        self.inner.read(query).map(move |read| {
            let mut read = read?;
            if let EventRead::Page(page) = &mut read
                && skips
            {
                page.events.drain(..page.events.len().min(1));
            }
            Ok(read)
        })
    }
}

/// A transactor that derives events without the records before the change, so that each change looks like a creation.
pub(crate) struct WithoutRecords(pub(crate) Arc<dyn Transactor>);

#[async_trait]
impl Transactor for WithoutRecords {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.0.transact(Arc::new(Blind(transition))).await
    }
}

struct Blind(Arc<dyn Transition>);

impl Transition for Blind {
    fn footprint(&self, seen: &View) -> Footprint {
        self.0.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let changes = self.0.decide(view)?;
        let (wrong, at) = (happenings(&View::default(), changes.as_slice()), changes.at());
        Some(changes.with_events(wrong, at))
    }
}

/// A reader of the journal that leaves out the first batch of a page.
pub(crate) struct LateReader(pub(crate) Box<dyn EventBatchReader>);

impl EventBatchReader for LateReader {
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        let mut is_first = true;
        self.0.read(range, &mut |batch| {
            if std::mem::take(&mut is_first) { ControlFlow::Continue(()) } else { into(batch) }
        })
    }
}
