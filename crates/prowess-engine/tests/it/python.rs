//! Python tools (GAIA §5).

mod attacks;
mod calling;
mod installing;
mod interpreters;
mod loading;
mod packages;
mod repeating;
pub(crate) mod scene;
mod staying;
