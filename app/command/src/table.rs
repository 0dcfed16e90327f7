//! Tables with aligned columns, and colours on a terminal.

use std::fmt::Write;
use std::io::IsTerminal;

use clap::builder::styling::Style;

use crate::failure::Failure;
use crate::terminal::print;
use crate::terminal::visible_line;

/// Rows of text under headings.
pub(crate) struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
    paint: fn(usize, &str) -> Style,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(headings: [&str; COLUMNS]) -> Self {
        Self { rows: vec![headings.map(str::to_owned)], paint: |_, _| Style::new() }
    }

    /// Sets the style of cells by column and text.
    pub(crate) fn painted(self, paint: fn(usize, &str) -> Style) -> Self {
        Self { paint, ..self }
    }

    /// Adds a row. Control characters in cells are escaped.
    pub(crate) fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row.map(|cell| visible_line(&cell).into_owned()));
    }

    /// Returns the text, plain or with escape codes.
    pub(crate) fn render(&self, coloured: bool) -> String {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                let style = if index == 0 { Style::new().bold() } else { (self.paint)(column, cell) };
                // The padding is written after the end of the style. Otherwise it would be coloured, and `trim_end`
                // would not remove it.
                let spaces = width - cell.chars().count();
                let styled = if coloured { format!("{style}{cell}{style:#}") } else { cell.clone() };
                // Writing to a String does not fail.
                let _ = write!(line, "{styled}{:spaces$}  ", "");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Prints a table, in colour if standard output is a terminal and colours are not disabled.
pub(crate) fn show<const COLUMNS: usize>(table: &Table<COLUMNS>) -> Result<(), Failure> {
    print(&table.render(colours_are_wanted()))
}

/// Returns whether tables have colours: standard output is a terminal that can show them, and NO_COLOR is not set.
fn colours_are_wanted() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    std::io::stdout().is_terminal() && !refused && !dumb
}

#[cfg(test)]
mod tests {
    use clap::builder::styling::AnsiColor;

    use super::*;

    fn table() -> Table<2> {
        let mut table = Table::new(["ID", "NAME"]);
        table.row(["1".to_owned(), "Ñandú".to_owned()]);
        table.row(["100".to_owned(), String::new()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        assert_eq!(table().render(false), "ID   NAME\n1    Ñandú\n100\n");
    }

    #[test]
    fn control_characters_in_cells_are_escaped() {
        let mut table = table();
        table.row(["2".to_owned(), "\u{1b}[2J\n\u{9b}31m".to_owned()]);
        let last = "2    \\u{1b}[2J\\u{a}\\u{9b}31m\n";
        assert!(table.render(false).ends_with(last), "{}", table.render(false));
    }

    #[test]
    fn colours_change_nothing_but_the_colours() {
        let paint = |column, _: &str| if column == 0 { AnsiColor::Red.on_default() } else { Style::new() };
        let painted = table().painted(paint).render(true);
        assert_eq!(
            painted,
            "\x1b[1mID\x1b[0m   \x1b[1mNAME\x1b[0m\n\x1b[31m1\x1b[0m    Ñandú\n\x1b[31m100\x1b[0m\n"
        );
    }
}
