//! Tests of the sandbox from inside: every row of the catalogue of attacks that can be attempted on Linux.

mod attacks;
mod files;
mod filesystems;
mod filling;
mod formats;
mod hidden;
mod hostile_host;
mod overlays;
mod running;
mod world;
