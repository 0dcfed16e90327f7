//! The body of a response: whole, or a stream that is produced while it is sent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use parking_lot::Mutex;
use petstore_domain::AccountId;
use tokio::sync::OwnedSemaphorePermit;

/// The maximum number of bytes of a chunk of a streaming body. A connection buffers at most one chunk besides hyper's
/// buffer.
pub(crate) const CHUNK_MAX: usize = 16 * 1024;

/// The body of a response.
pub(crate) enum Body {
    /// All bytes are available.
    Whole(Bytes),
    /// The bytes are produced while the client reads them.
    Stream(Box<StreamBody>),
}

/// The producer of a streaming body. It is polled only while the connection accepts bytes, so that no data queues up
/// for a client that does not read.
pub(crate) trait Source: 'static {
    /// Returns the next chunk of at most [`CHUNK_MAX`] bytes; `None` at the end. `is_stopping` is `true` once the
    /// server stops: the source must then send its last chunk and end, or the stream is cut.
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>>;

    /// Returns `true` if the body is incomplete at its end, so that the connection is closed.
    fn is_cut(&self) -> bool {
        false
    }
}

/// The framing of a streaming body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// hyper frames the body.
    ByHyper,
    /// The body has HTTP/1.1's chunked coding, so the connection may send it without hyper. `closes` is `true` if the
    /// connection ends with the response.
    Chunked { closes: bool },
}

/// A streaming body with its permit.
pub(crate) struct StreamBody {
    pub(crate) source: Box<dyn Source>,
    pub(crate) framing: Framing,
    /// The permit, held until the stream ends.
    #[expect(dead_code, reason = "held until it is dropped")]
    pub(crate) permit: StreamPermit,
}

/// The permit of one stream.
#[expect(dead_code, reason = "held until it is dropped")]
pub(crate) enum StreamPermit {
    /// A stream of an account.
    OfAccount(StreamPlace),
    /// A stream of the sandbox's journal.
    OfSandbox(OwnedSemaphorePermit),
}

/// The open streams of a server, shared by its threads.
#[derive(Clone, Default)]
pub(crate) struct StreamPlaces(Arc<Mutex<OpenStreams>>);

#[derive(Default)]
struct OpenStreams {
    all: usize,
    /// Accounts with at least one stream.
    of_accounts: HashMap<AccountId, usize>,
}

/// The permit of one stream. Dropping this value releases the permit.
pub(crate) struct StreamPlace {
    places: StreamPlaces,
    account: AccountId,
}

/// The reason why no further stream is permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoStreamPlace {
    /// The account has its maximum number of streams.
    OfAccount,
    /// The server has its maximum number of streams.
    OfServer,
}

impl StreamPlaces {
    /// Returns a permit for one more stream of an account.
    pub(crate) fn take(
        &self,
        account: AccountId,
        account_max: usize,
        all_max: usize,
    ) -> Result<StreamPlace, NoStreamPlace> {
        let mut open = self.0.lock();
        let of_account = open.of_accounts.get(&account).copied().unwrap_or(0);
        if of_account >= account_max {
            return Err(NoStreamPlace::OfAccount);
        }
        if open.all >= all_max {
            return Err(NoStreamPlace::OfServer);
        }
        open.all += 1;
        open.of_accounts.insert(account, of_account + 1);
        Ok(StreamPlace { places: self.clone(), account })
    }

    /// The number of open streams.
    pub(crate) fn open(&self) -> usize {
        self.0.lock().all
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.places.0.lock();
        open.all -= 1;
        if let Entry::Occupied(mut of_account) = open.of_accounts.entry(self.account) {
            *of_account.get_mut() -= 1;
            if *of_account.get() == 0 {
                of_account.remove();
            }
        }
    }
}

impl Body {
    /// An empty body.
    pub(crate) const EMPTY: Self = Self::Whole(Bytes::new());

    /// Returns the bytes of a whole body; `None` for a stream.
    pub(crate) const fn whole(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Stream(_) => None,
        }
    }

    /// Returns the number of bytes of a whole body; 0 for a stream, whose length is unknown.
    pub(crate) fn len(&self) -> usize {
        self.whole().map_or(0, Bytes::len)
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_the_permitted_streams_are_open_at_a_time() {
        let places = StreamPlaces::default();
        let account = |number| AccountId::new(number).unwrap();
        let take = |number| places.take(account(number), 2, 3);
        let (first, _second) = (take(1).ok(), take(1).unwrap());
        assert_eq!(take(1).err(), Some(NoStreamPlace::OfAccount));
        let _third = take(2).unwrap();
        assert_eq!(take(2).err(), Some(NoStreamPlace::OfServer));
        assert_eq!(places.open(), 3);
        drop(first);
        assert!(take(1).is_ok(), "the place was released");
        assert_eq!(places.0.lock().of_accounts.len(), 2);
    }

    #[test]
    fn an_account_without_streams_takes_no_memory() {
        let places = StreamPlaces::default();
        drop(places.take(AccountId::FIRST, 1, 1));
        assert!(places.0.lock().of_accounts.is_empty());
    }
}
