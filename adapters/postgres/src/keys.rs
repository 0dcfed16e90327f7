//! Finding the key that a request presents.

mod cache;
mod credentials;

use petstore_ports::{Credential, KeyLookup, KeyReader, Reply, StoreError};
use tokio::time::Instant;

pub(crate) use cache::KeyCache;
pub(crate) use credentials::{CredentialByDigest, CredentialById};

use crate::PostgresStore;
use crate::records::stored_id;

impl KeyReader for PostgresStore {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        if let Some(credential) = self.keys.get(name, Instant::now()) {
            return Reply::now(Ok(Some(credential)));
        }
        let found = match name {
            KeyLookup::Digest(digest) => self.loaders.load(|loader| &loader.digests, digest),
            KeyLookup::Id(id) => self.loaders.load(|loader| &loader.keys, stored_id(id.get())),
        };
        let cache = std::sync::Arc::clone(&self.keys);
        found.map(move |found| {
            Ok(found?.map(|seen| {
                cache.insert(name, seen.changes, seen.credential);
                seen.credential
            }))
        })
    }
}
