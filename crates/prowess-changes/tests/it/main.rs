//! What a run has changed is read, applied, and undone: through real overlays, as root or as an ordinary user.
#![cfg(target_os = "linux")]

mod applying;
mod conflicts;
mod crashes;
mod hostile;
mod patches;
mod reading;
mod runs;
mod user;
mod world;
