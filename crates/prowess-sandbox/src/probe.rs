//! What a machine can enforce, layer by layer.

/// The result of testing all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The layers, in order.
    pub layers: Vec<Layer>,
}

impl Probe {
    /// Whether programs can be run.
    pub fn is_enforceable(&self) -> bool {
        self.layers.iter().all(|layer| layer.state != LayerState::Missing)
    }
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: &'static str,
    /// Whether it is enforced.
    pub state: LayerState,
    /// What was found, in a few words.
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Whether a layer is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerState {
    /// The kernel enforces it.
    Enforced,
    /// Best effort without support of the kernel.
    BestEffort,
    /// It is missing, so nothing runs.
    Missing,
}
