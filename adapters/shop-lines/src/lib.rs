//! The shop as newline-delimited JSON: one resource a line, in the form of the API, under the name of its kind.
//!
//! ```
//! use petstore_memory::MemoryStore;
//! use petstore_ports::Unwatched;
//! use petstore_shop_lines::{Collisions, End, export, import};
//!
//! let lines = r#"{"category":{"name":"Rabbits","id":1}}
//! {"pet":{"name":"Hazel","categoryId":1,"status":"available","id":1}}
//! {"inventoryItem":{"petId":1,"quantity":1,"status":"available"}}
//! {"order":{"id":1,"petId":1,"quantity":1,"complete":true}}
//! "#;
//! let (store, collisions) = (MemoryStore::new(), Collisions::Refuse { advice: "rename one of them" });
//! let done = import(&store, lines.as_bytes(), End::OfInput, collisions, &(std::sync::Arc::new(Unwatched) as _));
//! assert_eq!(done.map(|done| done.lines), Ok(4));
//! let mut written = Vec::new();
//! export(&store, &mut written).unwrap();
//! assert_eq!(written, lines.as_bytes());
//! ```

mod encoding;
mod explain;
mod export;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fuzz;
mod import;
mod line;
mod shop_text;

#[cfg(test)]
#[path = "../../../tests/fuzz/woven.rs"]
mod woven;

pub use self::encoding::{UTF_16, bytes_without_mark, is_utf_16};
pub use self::export::{export, write_row};
pub use self::import::{Collisions, END_LINE, End, ImportFailure, Imported, import};
pub use self::shop_text::ShopLines;
