//! Python tools (GAIA §5).

mod attacks;
mod calling;
mod interpreters;
mod loading;
mod packages;
mod repeating;
mod scene;
mod staying;
