//! Bases on a real disk.

mod bases;
mod cranfield;
mod shelf;
mod wordllama;
