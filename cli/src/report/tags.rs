//! The tree of tags: `level/sound` is `sound` within `level`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::visible;
use super::snapshot::Tag;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Levels of the tree. A name with more parts keeps the rest in its last one.
const DEEPEST: usize = 64;

/// A line of the tree.
pub struct Line<T> {
    pub depth: usize,
    pub name: String,
    /// None: there are tags within this one, but no entry for it.
    pub of: Option<T>,
}

/// The path of a tag in the tree.
fn path(tag: &Tag) -> Vec<String> {
    match (tag.name.as_str(), tag.number.filter(|number| *number != 0)) {
        ("", None) => vec!["(no tag)".into()],
        ("", Some(number)) => vec![format!("#{number}")],
        (name, _) => name.splitn(DEEPEST, '/').map(visible).collect(),
    }
}

/// The entries in the order of the tree. Of the tags within one, that with the most weight comes first.
pub fn tree<T>(entries: impl IntoIterator<Item = (Tag, T)>, weight: impl Fn(&T) -> u64) -> Vec<Line<T>> {
    let mut weights: HashMap<Vec<String>, u128> = HashMap::new();
    let mut lines: HashMap<Vec<String>, Line<T>> = HashMap::new();
    for (tag, of) in entries {
        let path = path(&tag);
        for depth in 0..path.len() {
            let part = &path[..=depth];
            *weights.entry(part.to_vec()).or_default() += u128::from(weight(&of));
            lines.entry(part.to_vec()).or_insert(Line { depth, name: path[depth].clone(), of: None });
        }
        let name = path[path.len() - 1].clone();
        let name = match tag.number.filter(|number| *number != 0 && !tag.name.is_empty()) {
            Some(number) => format!("{name} #{number}"),
            None => name,
        };
        lines.insert(path.clone(), Line { depth: path.len() - 1, name, of: Some(of) });
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_cached_key(|(path, _)| {
        let parts = (1..=path.len()).map(|length| &path[..length]);
        parts.map(|part| (Reverse(weights[part]), part.last().cloned())).collect::<Vec<_>>()
    });
    lines.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_within_a_tag_follow_it_and_the_largest_is_first() {
        let all =
            [("", 0, 1), ("", 9, 2), ("ai", 0, 5), ("level/sound", 7, 30), ("level/maps/a", 0, 40), ("level", 0, 0)];
        let tag = |(name, number, live): (&str, u64, u64)| {
            (Tag { name: name.into(), number: Some(number), live, allocated: 0, budget: None }, live)
        };
        let lines = tree(all.map(tag), |live| *live);
        let shown =
            lines.iter().map(|line| format!("{}{} {:?}\n", " ".repeat(line.depth), line.name, line.of.unwrap_or(99)));
        let expected = "level 0\n maps 99\n  a 40\n sound #7 30\nai 5\n#9 2\n(no tag) 1\n";
        assert_eq!(shown.collect::<String>(), expected);
    }
}
