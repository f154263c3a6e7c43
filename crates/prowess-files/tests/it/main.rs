//! Files that are written whole, tried with steps that fail and processes that are killed.

mod killed;
mod locks;
mod private;
mod whole;
