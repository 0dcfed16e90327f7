use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Change, Changes, Version};
use petstore_ports::LastIds;

use super::*;

fn category(id: u64) -> Changes {
    let name = CategoryName::parse(&format!("{id}").repeat(50)).unwrap();
    let category = Category::new(CategoryId::new(id).unwrap(), name);
    Changes::from([Change::Category(CategoryRecord { category, version: Version::FIRST, pets: 0 })])
}

#[test]
fn a_full_disk_is_an_error_until_space_is_free() {
    let path = std::env::temp_dir().join(format!("petstore-full-{}", std::process::id()));
    let mut journal = SqliteJournal::open(&path, 1).unwrap();
    journal.opened().unwrap().connection.pragma_update(None, "max_page_count", 1).unwrap();
    let many: Vec<_> = (1..100).map(category).collect();
    let batch = Batch { number: BatchNumber(1), changes: &many, last_ids: LastIds::default(), events: None };
    let full = StoreError::unavailable("append: database or disk is full (code 13)");
    assert_eq!(journal.append(&batch), Err(full));
    // `recover` opens a new connection, which has no limit on the number of pages.
    assert_eq!(journal.recover(), Ok(BatchNumber(0)));
    assert_eq!(journal.append(&batch), Ok(()));
    drop(journal);
    for end in ["", ".lock"] {
        std::fs::remove_file(format!("{}{end}", path.display())).unwrap();
    }
}
