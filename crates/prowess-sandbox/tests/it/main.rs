//! The walls, tried from inside: every row of the list of attacks that can be tried on Linux.

mod attacks;
mod files;
mod filesystems;
mod filling;
mod formats;
mod hostile_host;
mod running;
mod world;
