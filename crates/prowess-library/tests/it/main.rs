//! Skills by reference, on a real disk.

mod resolving;
