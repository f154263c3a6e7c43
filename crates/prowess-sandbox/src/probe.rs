//! What a machine can enforce, layer by layer.

/// The result of trying everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The layers, in the order in which they stand.
    pub layers: Vec<Layer>,
}

impl Probe {
    /// Whether programs can be run at all.
    pub fn is_enforceable(&self) -> bool {
        self.layers.iter().all(|layer| layer.state != State::Missing)
    }
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What it is.
    pub name: &'static str,
    /// Whether it holds.
    pub state: State,
    /// What was found, in a few words.
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Whether a layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The kernel enforces it.
    Enforced,
    /// It is done as well as it can be without the kernel.
    BestEffort,
    /// It is not there, so nothing runs.
    Missing,
}
