//! The text of a page's statement.

use std::fmt::Write;

use petstore_ports::{PageRequest, SortDirection};

/// The order of a page in SQL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction {
    /// Compares a row with the position that the page begins at, exclusive.
    follows: &'static str,
    /// Compares a row with the end of the index's part that the page reads, inclusive.
    ends: &'static str,
    order: &'static str,
    /// The position before the first page.
    start: i64,
}

impl Direction {
    pub(crate) const fn of(order: SortDirection) -> Self {
        match order {
            SortDirection::Ascending => Self { follows: ">", ends: "<=", order: "", start: 0 },
            SortDirection::Descending => Self { follows: "<", ends: ">=", order: " desc", start: i64::MAX },
        }
    }

    /// The id that a page begins at, exclusive.
    pub(crate) fn after(self, page: &PageRequest) -> i64 {
        page.after.map_or(self.start, |after| i64::try_from(after).unwrap_or(i64::MAX))
    }
}

/// One part of an index: the leading columns with their values as SQL. The last column of the index is the id.
pub(crate) type Prefix = Vec<(&'static str, &'static str)>;

/// The text that reads a page from one part of an index, or from several. `$1` is the id that the page begins at, exclusive,
/// and `$2` the maximum number of rows; values of prefixes use further parameters.
///
/// The columns of a prefix are compared together with the id, as one row, not each by `=`. Then only an index with just
/// these columns yields the rows in order. So the planner cannot walk another index and filter its rows, whatever the
/// statistics say.
pub(crate) fn keyset(columns: &str, table: &str, parts: &[Prefix], direction: Direction) -> String {
    if let [part] = parts {
        return branch(columns, table, part, direction);
    }
    let branches: Vec<String> =
        parts.iter().map(|part| format!("({})", branch(columns, table, part, direction))).collect();
    format!("{} order by id{} limit $2", branches.join(" union all "), direction.order)
}

fn branch(columns: &str, table: &str, part: &Prefix, direction: Direction) -> String {
    let Direction { follows, ends, order, .. } = direction;
    let list = |column: fn(&(&'static str, &'static str)) -> &'static str, separator: &str| {
        part.iter().map(column).collect::<Vec<_>>().join(separator)
    };
    let (names, values) = (list(|(name, _)| name, ", "), list(|(_, value)| value, ", "));
    let mut text = format!("select {columns} from {table} where ");
    // Writing to a text cannot fail.
    let _: std::fmt::Result = if part.is_empty() {
        write!(text, "id {follows} $1 order by id{order} limit $2")
    } else {
        let sort = list(|(name, _)| name, &format!("{order}, "));
        write!(
            text,
            "({names}, id) {follows} ({values}, $1) and ({names}) {ends} ({values}) order by {sort}{order}, id{order} limit $2"
        )
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_of_an_index_is_bounded_on_both_sides() {
        let part = vec![("category_id", "$3"), ("status", "'sold'")];
        assert_eq!(
            keyset("id", "pets", &[part], Direction::of(SortDirection::Descending)),
            "select id from pets where (category_id, status, id) < ($3, 'sold', $1) and (category_id, status) >= ($3, 'sold') \
             order by category_id desc, status desc, id desc limit $2"
        );
    }

    #[test]
    fn each_part_is_limited() {
        let parts = [vec![("status", "'pending'")], vec![("status", "'sold'")]];
        assert_eq!(
            keyset("id", "pets", &parts, Direction::of(SortDirection::Ascending)),
            "(select id from pets where (status, id) > ('pending', $1) and (status) <= ('pending') order by status, id limit $2) \
             union all (select id from pets where (status, id) > ('sold', $1) and (status) <= ('sold') order by status, id limit $2) \
             order by id limit $2"
        );
    }

    #[test]
    fn a_page_without_a_filter_is_read_by_the_primary_key() {
        assert_eq!(
            keyset("id", "pets", &[vec![]], Direction::of(SortDirection::Ascending)),
            "select id from pets where id > $1 order by id limit $2"
        );
    }

    #[test]
    fn a_page_begins_after_any_number() {
        for (order, after, expected) in [
            (SortDirection::Ascending, None, 0),
            (SortDirection::Descending, None, i64::MAX),
            (SortDirection::Ascending, Some(7), 7),
            (SortDirection::Descending, Some(u64::MAX), i64::MAX),
        ] {
            let page = PageRequest { order, after, limit: 1 };
            assert_eq!(Direction::of(order).after(&page), expected, "{page:?}");
        }
    }
}
