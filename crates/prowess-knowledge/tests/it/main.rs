//! Bases on a real disk.

mod bases;
mod cranfield;
#[cfg(unix)]
mod postgres;
mod shelf;
mod wordllama;
