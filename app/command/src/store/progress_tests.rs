//! The progress of long work on a store.

use std::sync::Arc;

use petstore_http::IdleTime;
use petstore_ports::WorkProgress;
use petstore_sandbox::fill_with_demo;

use super::Backend;
use crate::progress::recorded::RecordedPhases;
use crate::settings::Db;

#[test]
fn a_data_file_shows_how_far_it_is_written_and_read() {
    let folder = std::env::temp_dir().join(format!("petstore-progress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let db = Db::File(folder.join("shop.db"));
    let phases = Arc::new(RecordedPhases::default());
    let progress: Arc<dyn WorkProgress> = Arc::clone(&phases) as _;
    let open = || {
        Backend::open(&db, "", IdleTime::default(), &progress).unwrap_or_else(|why| panic!("{}", why.message))
    };
    let named = || -> Vec<_> {
        phases.take().into_iter().map(|(phase, done)| (phase.name, phase.total, done)).collect()
    };

    let backend = open();
    assert_eq!(
        named().first().map(|(name, ..)| *name),
        Some("migrating the data file"),
        "a new file has no table"
    );
    assert!(fill_with_demo(backend.bulk(), 20).unwrap());
    // Ten categories and twenty pets.
    assert_eq!(named(), [("writing to the data file", Some(30), 30)]);
    backend.close();
    drop(backend);

    open().close();
    let read = named();
    let (name, total, done) = read[0];
    assert_eq!((name, done), ("reading the data file", 30), "{read:?}");
    assert!(total >= Some(30), "{read:?}");
    std::fs::remove_dir_all(folder).unwrap();
}
