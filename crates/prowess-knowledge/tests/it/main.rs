//! Bases on a real disk.

mod bases;
mod cranfield;
mod crash;
mod shelf;
mod wordllama;
