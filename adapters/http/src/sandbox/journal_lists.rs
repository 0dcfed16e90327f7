//! The records of the journal as elements of a list.

use std::sync::Arc;
use std::vec::IntoIter;

use petstore_request_journal::{Hints, JournalPage, RequestRecord, push_har_entry, push_record};
use tokio::sync::OwnedSemaphorePermit;

use super::pieces::Elements;
use super::readers::Readers;
use super::recorder::RequestRecorder;

/// The form of the records in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListForm {
    Json,
    /// Entries of an HTTP archive.
    Archive,
}

/// The records of a list that are not rendered yet.
enum Rest {
    /// The records themselves, so that the list has them also if the journal drops them meanwhile.
    Held(
        IntoIter<RequestRecord>,
        #[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit,
    ),
    /// Their numbers, if the readers hold as many bytes as they may. A record that the journal drops meanwhile is left out.
    Numbers(IntoIter<u64>),
}

/// The records of one list.
pub(super) struct JournalList {
    recorder: Arc<RequestRecorder>,
    clears: u64,
    rest: Rest,
    hints: Arc<Hints>,
    form: ListForm,
    is_begun: bool,
    plain_bytes: Option<usize>,
}

impl JournalList {
    /// Takes the records of a page.
    pub(super) fn new(
        recorder: &Arc<RequestRecorder>,
        readers: &Readers,
        page: JournalPage,
        hints: Arc<Hints>,
        form: ListForm,
    ) -> Self {
        let bytes = page.records.iter().map(RequestRecord::bytes).sum();
        let is_plain = page.records.iter().all(|record| !record.is_compressed());
        let rest = match readers.hold(bytes) {
            Some(permit) => Rest::Held(page.records.into_iter(), permit),
            None => Rest::Numbers(
                page.records.iter().map(|record| record.sequence).collect::<Vec<_>>().into_iter(),
            ),
        };
        Self {
            recorder: Arc::clone(recorder),
            clears: page.clears,
            rest,
            hints,
            form,
            is_begun: false,
            plain_bytes: is_plain.then_some(bytes),
        }
    }

    fn next(&mut self) -> Option<RequestRecord> {
        match &mut self.rest {
            Rest::Held(records, _) => records.next(),
            Rest::Numbers(numbers) => {
                let journal = self.recorder.journal();
                numbers.find_map(|sequence| journal.record(self.clears, sequence))
            }
        }
    }
}

impl Elements for JournalList {
    fn push_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(record) = self.next() else { return false };
        if std::mem::replace(&mut self.is_begun, true) {
            out.push(b',');
        }
        match self.form {
            ListForm::Json => push_record(out, &record, &self.hints),
            ListForm::Archive => push_har_entry(out, &record),
        }
        true
    }

    fn plain_bytes(&self) -> Option<usize> {
        self.plain_bytes
    }
}
