//! Workflows: which node runs when, what each kind does, and what is left after a failure.

mod nodes;
mod order;
mod queue;
mod resuming;
mod scene;
