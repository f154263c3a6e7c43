//! A skill between what it depends on and what depends on it, as an SVG drawing with links.

use super::links;

/// How many skills are drawn on a side; the lists below the drawing have all of them.
const MAX_SIDE: usize = 8;
/// The longest name that is drawn, in characters.
const MAX_CHARACTERS: usize = 24;
const ROW: usize = 40;
const BOX: usize = 28;
const WIDTH: usize = 200;
const GAP: usize = 70;

/// A node with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// Where its text stands.
    pub(crate) text_y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The name as drawn, perhaps cut.
    pub(crate) label: String,
    /// The whole name.
    pub(crate) title: String,
    /// Its page; none for the skill itself, for one that is missing, and for "N more".
    pub(crate) address: Option<String>,
}

/// A drawing.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) title: String,
    pub(crate) nodes: Vec<Node>,
    /// The curves, as path data.
    pub(crate) edges: Vec<String>,
}

/// A skill beside the one in the middle.
#[derive(Clone, Debug)]
pub(crate) struct Neighbour {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Whether the registry has it.
    pub(crate) exists: bool,
}

/// Draws a skill with its neighbours: dependents at the left, dependencies at the right.
pub(crate) fn draw(
    skill: &str,
    dependents: &[Neighbour],
    dependencies: &[Neighbour],
) -> Option<Graph> {
    if dependents.is_empty() && dependencies.is_empty() {
        return None;
    }
    let left = column(dependents);
    let right = column(dependencies);
    let rows = left.len().max(right.len()).max(1);
    let height = rows * ROW;
    let middle = WIDTH + GAP;
    let mut nodes = vec![node(middle, height / 2, skill, skill, None)];
    let mut edges = Vec::new();
    for (side, is_left) in [(left, true), (right, false)] {
        let x = if is_left { 0 } else { 2 * (WIDTH + GAP) };
        let top = (height - side.len() * ROW) / 2;
        for (index, (label, title, address)) in side.into_iter().enumerate() {
            let center = top + index * ROW + ROW / 2;
            nodes.push(node(x, center, &label, &title, address));
            let (from, to) = if is_left { (WIDTH, middle) } else { (middle + WIDTH, x) };
            let (from_y, to_y) = if is_left { (center, height / 2) } else { (height / 2, center) };
            let bend = usize::midpoint(from, to);
            edges.push(format!("M{from} {from_y}C{bend} {from_y} {bend} {to_y} {} {to_y}", to - 6));
        }
    }
    let title = format!(
        "{skill} with {} that depend on it at the left and {} that it depends on at the right",
        dependents.len(),
        dependencies.len()
    );
    Some(Graph { width: 3 * WIDTH + 2 * GAP, height, title, nodes, edges })
}

type Labelled = (String, String, Option<String>);

fn column(side: &[Neighbour]) -> Vec<Labelled> {
    let mut column: Vec<Labelled> = side
        .iter()
        .take(MAX_SIDE)
        .map(|neighbour| {
            let title = format!("{}/{}", neighbour.namespace, neighbour.name);
            let address =
                neighbour.exists.then(|| links::skill(&neighbour.namespace, &neighbour.name));
            (cut(&title), title, address)
        })
        .collect();
    if side.len() > MAX_SIDE {
        let more = format!("{} more", side.len() - MAX_SIDE);
        column.push((more.clone(), more, None));
    }
    column
}

fn node(x: usize, center: usize, label: &str, title: &str, address: Option<String>) -> Node {
    Node {
        x,
        y: center - BOX / 2,
        text_y: center + 4,
        width: WIDTH,
        height: BOX,
        label: cut(label),
        title: title.to_owned(),
        address,
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let short: String = text.chars().take(MAX_CHARACTERS - 1).collect();
    format!("{short}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(count: usize) -> Vec<Neighbour> {
        (0..count)
            .map(|index| Neighbour {
                namespace: "acme".to_owned(),
                name: format!("skill-{index}"),
                exists: index != 1,
            })
            .collect()
    }

    #[test]
    fn neighbours_are_at_both_sides_and_many_become_a_number() {
        let graph = draw("acme/pdf-forms", &neighbours(12), &neighbours(2)).unwrap();
        assert_eq!(graph.nodes.len(), 1 + 9 + 2);
        assert_eq!(graph.edges.len(), 11);
        assert_eq!(graph.nodes[9].label, "4 more");
        // What the registry doesn't have is drawn without a link.
        assert_eq!(graph.nodes[11].address, None);
        assert_eq!(graph.nodes[10].address.as_deref(), Some("/acme/skill-0"));
        assert!(graph.nodes.iter().all(|node| node.y + node.height <= graph.height));
    }

    #[test]
    fn a_skill_alone_is_not_drawn() {
        assert!(draw("a/b", &[], &[]).is_none());
    }
}
