//! Atomic writes, tested with failing steps and killed processes.

mod atomic;
mod killed;
mod locks;
mod private;
