//! A table with its caption, for readers of the screen, and its column heads.

use std::fmt::{self, Formatter};

/// The parts of a table around its rows.
pub(super) struct Table<'t> {
    pub(super) class: &'static str,
    pub(super) caption: fmt::Arguments<'t>,
    pub(super) columns: &'static [&'static str],
    /// Names the roles of its parts. A page whose style shows cells as blocks loses them otherwise.
    pub(super) names_roles: bool,
}

impl Table<'_> {
    /// Writes the table with the rows that `write_row` writes.
    pub(super) fn write<R>(
        &self,
        f: &mut Formatter<'_>,
        rows: impl IntoIterator<Item = R>,
        mut write_row: impl FnMut(&mut Formatter<'_>, R) -> fmt::Result,
    ) -> fmt::Result {
        let Self { class, caption, columns, .. } = self;
        let [table, group, row, head] =
            ["table", "rowgroup", "row", "columnheader"].map(|role| self.role(role));
        write!(
            f,
            "<table class=\"{class}\"{table}><caption class=\"off-screen\">{caption}</caption>\n<thead{group}><tr{row}>"
        )?;
        for column in *columns {
            write!(f, "<th{head} scope=\"col\">{column}</th>")?;
        }
        writeln!(f, "</tr></thead>\n<tbody{group}>")?;
        for each in rows {
            write_row(f, each)?;
        }
        f.write_str("</tbody></table>\n")
    }

    fn role(&self, name: &str) -> String {
        if self.names_roles { format!(" role=\"{name}\"") } else { String::new() }
    }
}
