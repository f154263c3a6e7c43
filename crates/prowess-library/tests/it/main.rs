//! Skills by reference, on a real disk.

mod fetching;
mod packages;
mod resolving;
mod selecting;
