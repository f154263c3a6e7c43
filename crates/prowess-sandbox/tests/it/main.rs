//! The walls, tried from inside: every row of the list of attacks that can be tried on Linux.

mod attacks;
mod files;
mod filling;
mod hostile_host;
mod running;
mod world;
