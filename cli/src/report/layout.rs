//! Text within a number of columns: numbers, shortened names, paragraphs and tables.
// SPDX-License-Identifier: MIT OR Apache-2.0

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The digits in groups of three.
pub fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let groups: Vec<_> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or("")).collect();
    format!("{sign}{}", groups.join(","))
}

/// A difference, with its sign.
pub fn signed(number: i128) -> String {
    format!("{}{}", if number > 0 { "+" } else { "" }, grouped(number))
}

/// The exact number of bytes, and that in a unit with a number below 1024: `1,536 bytes (1.5 KiB)`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (number as f64 / 1024.0, 0);
    if value < 1.0 {
        return format!("{} byte{}", grouped(number), if number == 1 { "" } else { "s" });
    }
    // 1023.95 would be shown as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{} bytes ({value:.1} {})", grouped(number), UNITS[unit])
}

/// The share in percent. A share that is not zero is not shown as zero, and one below the whole is not shown as the whole.
pub fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return String::new();
    }
    let share = part / whole * 100.0;
    match share {
        share if part > 0.0 && share < 0.1 => "<0.1 %".into(),
        share if part < whole && share > 99.9 => ">99.9 %".into(),
        share => format!("{share:.1} %"),
    }
}

/// Seconds with a unit that gives three digits.
pub fn seconds(time: f64) -> String {
    match time.abs() {
        at if at >= 100.0 => format!("{time:.0} s"),
        at if at >= 10.0 => format!("{time:.1} s"),
        at if at >= 1.0 => format!("{time:.2} s"),
        at if at >= 0.1 => format!("{:.0} ms", time * 1e3),
        at if at >= 1e-3 => format!("{:.1} ms", time * 1e3),
        0.0 => "0 s".into(),
        _ => format!("{:.1} us", time * 1e6),
    }
}

pub fn columns(text: &str) -> usize {
    text.width()
}

/// At most `width` columns. Of a longer call, `function (place)`, the folders of its file are left out, then the arguments
/// of the function; then, as of any text, the middle.
pub fn shorten(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    if let Some((function, place)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        let place = format!(" ({})", place.rsplit('/').next().unwrap_or(place));
        let arguments =
            function.char_indices().find(|(at, c)| *c == '(' && *at > 0 && !function[..*at].ends_with("operator"));
        let name = arguments.map_or(function, |(at, _)| &function[..at]);
        let room = width.saturating_sub(columns(&place));
        if let Some(fits) = [function, name].into_iter().find(|name| columns(name) <= room) {
            return format!("{fits}{place}");
        }
        if room >= columns(&place) {
            return format!("{}{place}", shorten(name, room));
        }
    }
    if width <= 1 {
        return "…".chars().take(width).collect();
    }
    // The end is more specific: a file and a line, the last part of a path.
    let end_width = (width - 1).div_ceil(2);
    let begin = taken(text.chars(), width - 1 - end_width);
    let end: String = taken(text.chars().rev(), end_width).chars().rev().collect();
    format!("{begin}…{end}")
}

/// As many characters as fit.
fn taken(text: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    text.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    })
    .collect()
}

/// Breaks a paragraph into lines. The lines after the first begin with `indent` blanks.
pub fn wrapped(first: &str, text: &str, indent: usize, width: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let after = " ".repeat(indent);
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&after)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::fill(&words, options) + "\n"
}

/// A table whose first column is a name and whose others are numbers.
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Row>,
}

enum Row {
    Cells {
        indent: usize,
        name: String,
        cells: Vec<String>,
    },
    /// A line below a row, shortened like a name.
    Note {
        indent: usize,
        text: String,
    },
}

const INDENT: usize = 2;

impl Table {
    pub fn new(titles: &[&str]) -> Table {
        Table { titles: titles.iter().map(|title| (*title).into()).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, indent: usize, name: impl Into<String>, cells: Vec<String>) {
        self.rows.push(Row::Cells { indent: INDENT + indent, name: name.into(), cells });
    }

    pub fn note(&mut self, indent: usize, text: impl Into<String>) {
        self.rows.push(Row::Note { indent: INDENT + indent, text: text.into() });
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Numbers are never shortened. If they leave too little room for names, each name gets a line of its own, and the
    /// numbers follow with their titles.
    pub fn text(&self, width: usize) -> String {
        let widths: Vec<usize> = (0..self.titles.len() - 1).map(|column| self.width_of(column)).collect();
        let numbers: usize = widths.iter().filter(|width| **width != 0).map(|width| width + 2).sum();
        let longest = self.rows.iter().map(Row::name_width).max().unwrap_or(0).max(columns(&self.titles[0]));
        if width < numbers + longest.min(26) {
            return self.stacked(width);
        }
        let names = longest.min(width - numbers);
        let mut text = self.line(names, &widths, 0, &self.titles[0], &self.titles[1..]);
        for row in &self.rows {
            match row {
                Row::Cells { indent, name, cells } => text += &self.line(names, &widths, *indent, name, cells),
                Row::Note { indent, text: note } => text += &note_line(*indent, note, width),
            }
        }
        text
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells { cells, .. } => Some(columns(&cells[column])),
            Row::Note { .. } => None,
        });
        match cells.max().unwrap_or(0) {
            0 => 0, // a column without a value is not shown
            widest => widest.max(columns(&self.titles[column + 1])),
        }
    }

    fn line(&self, names: usize, widths: &[usize], indent: usize, name: &str, cells: &[String]) -> String {
        let indent = indent.min(names / 2);
        let name = shorten(name, names - indent);
        let mut line = format!("{}{name}", " ".repeat(indent));
        line += &" ".repeat(names.saturating_sub(columns(&line)));
        for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| **width != 0) {
            line += &" ".repeat(width + 2 - columns(cell));
            line += cell;
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    fn stacked(&self, width: usize) -> String {
        let mut text = format!("{}\n", self.titles[0]);
        for row in &self.rows {
            match row {
                Row::Cells { indent, name, cells } => {
                    text += &note_line(*indent, name, width);
                    let values = self.titles[1..].iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
                    let values: Vec<_> = values.map(|(title, cell)| format!("{title} {cell}")).collect();
                    let indent = (indent + 4).min(width / 2);
                    text += &wrapped(&" ".repeat(indent), &values.join("; "), indent, width);
                }
                Row::Note { indent, text: note } => text += &note_line(*indent, note, width),
            }
        }
        text
    }
}

impl Row {
    fn name_width(&self) -> usize {
        match self {
            Row::Cells { indent, name, .. } => indent + columns(name),
            Row::Note { .. } => 0,
        }
    }
}

fn note_line(indent: usize, text: &str, width: usize) -> String {
    let indent = indent.min(width / 2);
    format!("{}{}\n", " ".repeat(indent), shorten(text, width - indent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!((grouped(0), grouped(999), grouped(-1000)), ("0".into(), "999".into(), "-1,000".into()));
        assert_eq!((signed(5), signed(-5000), signed(0)), ("+5".into(), "-5,000".into(), "0".into()));
        assert_eq!(signed(i128::from(u64::MAX)), "+18,446,744,073,709,551,615");
        assert_eq!((bytes(1), bytes(1536)), ("1 byte".into(), "1,536 bytes (1.5 KiB)".into()));
        assert_eq!(bytes(1024 * 1024 - 1), "1,048,575 bytes (1.0 MiB)");
        assert_eq!(bytes(u64::MAX), "18,446,744,073,709,551,615 bytes (16.0 EiB)");
    }

    #[test]
    fn shares_and_times_have_few_digits() {
        let shares =
            [(1.0, 8.0), (0.0, 8.0), (1.0, 0.0), (1.0, 1e9), (1e9 - 1.0, 1e9)].map(|(part, all)| percent(part, all));
        assert_eq!(shares, ["12.5 %", "0.0 %", "", "<0.1 %", ">99.9 %"]);
        let shown = [123.4, 12.34, 1.234, 0.1234, 0.01234, 0.000_012_34, 0.0].map(seconds);
        assert_eq!(shown, ["123 s", "12.3 s", "1.23 s", "123 ms", "12.3 ms", "12.3 us", "0 s"]);
    }

    #[test]
    fn the_middle_of_a_long_name_is_left_out() {
        assert_eq!(shorten("0123456789", 10), "0123456789");
        assert_eq!(shorten("0123456789", 7), "012…789");
        assert_eq!(shorten("0123456789", 6), "01…789");
        assert_eq!(shorten("漢字漢字漢字", 7), "漢…字");
        let call = "operator new(unsigned long) (src/memory/new.cpp:58)";
        assert_eq!(shorten(call, 44), "operator new(unsigned long) (new.cpp:58)");
        assert_eq!(shorten(call, 30), "operator new (new.cpp:58)");
        assert_eq!(shorten("a_function_with_a_long_name(int) (new.cpp:58)", 28), "a_funct…ng_name (new.cpp:58)");
        assert_eq!((shorten("ab", 1), shorten("ab", 0)), ("…".into(), "".into()));
    }

    #[test]
    fn paragraphs_are_broken_at_blanks_and_long_words_anywhere() {
        assert_eq!(wrapped("- ", "one two three", 2, 9), "- one two\n  three\n");
        assert_eq!(wrapped("", "aaaaaaaaaa b", 2, 6), "aaaa\n  aaaa\n  aa b\n");
        assert_eq!(wrapped("  ", "", 2, 6), "  \n");
    }

    #[test]
    fn a_table_never_exceeds_the_width() {
        let mut table = Table::new(&["name", "live", "empty", "share"]);
        table.row(0, "a".repeat(100), vec![grouped(u64::MAX), String::new(), "1 %".into()]);
        table.row(2, "漢".repeat(50), vec!["1".into(), String::new(), String::new()]);
        table.note(2, "n".repeat(100));
        table.row(500, "deep", vec!["1".into(), String::new(), String::new()]);
        for width in 40..200 {
            let text = table.text(width);
            assert!(text.lines().all(|line| columns(line) <= width), "{width}\n{text}");
            assert!(text.contains(&grouped(u64::MAX)) && !text.contains("empty"));
        }
        assert!(table.text(40).contains("live 18,446,744,073,709,551,615;"));
        assert!(table.text(80).starts_with("name  "));
    }
}
