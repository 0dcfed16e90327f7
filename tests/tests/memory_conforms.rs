//! The conformance suite on the store in memory.

use std::sync::Arc;

use petstore_memory::MemoryStore;
use petstore_tests::{
    ImportSubject, ResetSubject, Subject, WebhookSubject, import_conformance, reset_conformance,
    store_conformance, webhook_conformance,
};

store_conformance!(Subject::of(&Arc::new(MemoryStore::new())));
reset_conformance!(ResetSubject::of(&Arc::new(MemoryStore::new())));
import_conformance!(ImportSubject::of(&Arc::new(MemoryStore::new())));
webhook_conformance!(WebhookSubject::of(&Arc::new(MemoryStore::new())));
