//! Skills by reference, on a real disk.

mod packages;
mod resolving;
