//! Packages, tried with what strangers pack and what others read.

mod attacks;
mod covered;
mod differential;
mod packing;
mod trees;
