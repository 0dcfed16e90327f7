//! Batches of requests as one call of the script.

use std::sync::Arc;

use petstore_ports::{StoreError, Verdict};
use petstore_remote_connection::{Exchange, Waiting};

use crate::begun_bans::BegunBans;
use crate::link::RedisLink;
use crate::packing::{Verdicts, pack};
use crate::request::{Group, Request, merged};
use crate::script::Script;

/// Decides the requests of one runtime.
pub(crate) struct Decisions {
    pub(crate) link: Arc<dyn RedisLink>,
    pub(crate) script: Arc<Script>,
    pub(crate) bans: Arc<BegunBans>,
}

impl Exchange for Decisions {
    type Request = Request;
    type Answer = Verdict;

    const BUSY: &'static str = "too many requests wait for Redis";
    const ABANDONED: &'static str = "the request was abandoned";

    async fn send(&self, batch: &mut Vec<Waiting<Request, Verdict>>) -> Result<(), StoreError> {
        // None of the requests has an answer, so every order of them is a possible order of their arrival.
        batch.sort_by_cached_key(|waiting| waiting.request.order());
        let groups = merged(batch.iter().map(|waiting| waiting.request));
        let packed = self.script.run(&*self.link, &pack(&groups)).await?;
        let verdicts = self.read(&packed, &groups, batch.len())?;
        for (waiting, verdict) in batch.drain(..).zip(verdicts) {
            waiting.answer(Ok(verdict));
        }
        Ok(())
    }
}

impl Decisions {
    /// Reads the verdicts of all requests of a batch, in its order, and takes note of bans.
    fn read(&self, packed: &[u8], groups: &[Group], requests: usize) -> Result<Vec<Verdict>, StoreError> {
        let mut verdicts = Vec::with_capacity(requests);
        let mut reader = Verdicts::new(packed);
        for group in groups {
            reader.read(group, |verdict| {
                if let Verdict::Banned { unrecorded: Some(ban), .. } = verdict {
                    self.bans.keep(group.request.key, ban);
                }
                verdicts.push(verdict);
            })?;
        }
        self.bans.count(reader.end()?);
        Ok(verdicts)
    }
}
