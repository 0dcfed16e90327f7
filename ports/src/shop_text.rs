//! The shop as a text that a tester gives and gets, as a port.

use crate::Row;

/// Reads and writes the shop as text. The form is that of imports and exports.
///
/// A form in which a line is the name of a category:
///
/// ```
/// use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Version};
/// use petstore_ports::{Row, ShopText, ShopTextFault};
///
/// struct Names;
///
/// impl ShopText for Names {
///     fn read(&self, text: &[u8]) -> Result<Vec<Row>, ShopTextFault> {
///         let text = str::from_utf8(text).map_err(|_| ShopTextFault("it is not UTF-8".to_owned()))?;
///         (1..).zip(text.lines()).map(|(line, name)| {
///             let fault = |why: String| ShopTextFault(format!("line {line}: {why}"));
///             let name = CategoryName::parse(name).map_err(|error| fault(error.to_string()))?;
///             let id = CategoryId::new(line).map_err(|error| fault(error.to_string()))?;
///             let category = Category::new(id, name);
///             Ok(Row::Category(CategoryRecord { category, version: Version::FIRST, pets: 0 }))
///         }).collect()
///     }
///
///     fn push(&self, row: &Row, out: &mut Vec<u8>) {
///         if let Row::Category(record) = row {
///             out.extend_from_slice(record.category.name.as_str().as_bytes());
///             out.push(b'\n');
///         }
///     }
/// }
///
/// let rows = Names.read(b"Rabbits\nBirds\n").unwrap();
/// let mut text = Vec::new();
/// rows.iter().for_each(|row| Names.push(row, &mut text));
/// assert_eq!(text, b"Rabbits\nBirds\n");
/// assert_eq!(Names.read(b"Rabbits\n\n").unwrap_err().0.split(':').next(), Some("line 2"));
/// ```
pub trait ShopText: Send + Sync {
    /// Reads a shop, and checks it as an import does. Returns its categories, pets and orders, in this order, for
    /// [`Resettable::reset`](crate::Resettable::reset).
    ///
    /// # Errors
    /// A part of the text has a fault, or contradicts another part.
    fn read(&self, text: &[u8]) -> Result<Vec<Row>, ShopTextFault>;

    /// Adds the text of a row. The texts of all rows of a shop, one after the other, are read as the same shop.
    fn push(&self, row: &Row, out: &mut Vec<u8>);
}

/// The place and the reason of a fault, such as `line 3: pet lacks name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShopTextFault(pub String);
