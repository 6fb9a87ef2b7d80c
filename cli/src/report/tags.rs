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

struct Node<T> {
    depth: usize,
    name: String,
    of: Option<T>,
    weight: u128,
    children: Vec<usize>,
}

/// The entries in the order of the tree. Of the tags within one, that with the most weight comes first.
pub fn tree<T>(entries: impl IntoIterator<Item = (Tag, T)>, weight: impl Fn(&T) -> u64) -> Vec<Line<T>> {
    let mut nodes: Vec<Node<T>> = Vec::new();
    let mut roots = Vec::new();
    let mut at: HashMap<(Option<usize>, String), usize> = HashMap::new();
    for (tag, of) in entries {
        let number = tag.number.filter(|number| *number != 0);
        let mut path = vec![];
        let mut within = None;
        let parts: Vec<&str> = tag.name.splitn(DEEPEST, '/').collect();
        for (depth, part) in parts.iter().enumerate() {
            let name = match (tag.name.as_str(), number) {
                ("", None) => "(no tag)".into(),
                ("", Some(number)) => format!("#{number}"),
                _ => visible(part),
            };
            let node = *at.entry((within, name.clone())).or_insert_with(|| {
                nodes.push(Node { depth, name, of: None, weight: 0, children: Vec::new() });
                let new = nodes.len() - 1;
                match within {
                    Some(parent) => nodes[parent].children.push(new),
                    None => roots.push(new),
                }
                new
            });
            path.push(node);
            within = Some(node);
        }
        for node in &path {
            nodes[*node].weight += u128::from(weight(&of));
        }
        let last = &mut nodes[path[path.len() - 1]];
        if let (Some(number), false) = (number, tag.name.is_empty()) {
            last.name = format!("{} #{number}", last.name);
        }
        last.of = Some(of);
    }
    let by_weight = |list: &mut Vec<usize>| list.sort_by_key(|node| Reverse(nodes[*node].weight));
    by_weight(&mut roots);
    let mut order = Vec::new();
    let mut open: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(node) = open.pop() {
        order.push(node);
        let mut children = nodes[node].children.clone();
        by_weight(&mut children);
        open.extend(children.into_iter().rev());
    }
    let mut nodes: Vec<Option<Node<T>>> = nodes.into_iter().map(Some).collect();
    let lines = order.into_iter().filter_map(|node| nodes[node].take());
    lines.map(|node| Line { depth: node.depth, name: node.name, of: node.of }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_within_a_tag_follow_it_and_the_largest_is_first() {
        let tag = |name: &str, number, live| Tag { name: name.into(), number, live, allocated: 0, budget: None };
        let tags = [
            tag("", None, 1),
            tag("", Some(9), 2),
            tag("ai", None, 5),
            tag("level/sound", Some(7), 30),
            tag("level/maps/a", None, 40),
            tag("level", None, 0),
        ];
        let lines = tree(tags.into_iter().map(|tag| (tag.clone(), tag.live)), |live| *live);
        let shown: Vec<_> = lines.iter().map(|line| (line.depth, line.name.as_str(), line.of)).collect();
        let expected = [
            (0, "level", Some(0)),
            (1, "maps", None),
            (2, "a", Some(40)),
            (1, "sound #7", Some(30)),
            (0, "ai", Some(5)),
            (0, "#9", Some(2)),
            (0, "(no tag)", Some(1)),
        ];
        assert_eq!(shown, expected);
    }
}
