//! Spreadsheets.

use super::LONGEST_TEXT;
use super::unreadable::Unreadable;
use calamine::{Reader as _, open_workbook_auto_from_rs};
use std::io::Cursor;

/// The cells of all sheets, row by row, with tabs between them.
pub(super) fn text(bytes: &[u8]) -> Result<String, Unreadable> {
    let damaged = |error: calamine::Error| Unreadable::damaged("a spreadsheet")(Box::new(error));
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    let mut text = String::new();
    for name in book.sheet_names() {
        let range = book.worksheet_range(&name).map_err(damaged)?;
        text.push_str(&format!("# {name}\n\n"));
        for row in range.rows() {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| cell.to_string().replace(['\n', '\t'], " "))
                .collect();
            let line = cells.join("\t");
            if !line.trim().is_empty() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
            if text.len() > LONGEST_TEXT {
                return Err(Unreadable::TooLong);
            }
        }
        text.push('\n');
    }
    Ok(text)
}
