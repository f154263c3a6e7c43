//! Pseudoterminals for tests.

use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStringExt as _;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Opens a pseudoterminal: the side of the user and the side of the program. Echo is off, so that the screen contains
/// only the program's output.
pub(crate) fn open() -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&screen).expect("the terminal is ours");
    unlockpt(&screen).expect("the terminal can be unlocked");
    let name = ptsname(&screen, Vec::new()).expect("the terminal has a name");
    let path = std::ffi::OsString::from_vec(name.into_bytes());
    let terminal = OpenOptions::new().read(true).write(true).open(path).expect("it can be opened");
    let mut settings = tcgetattr(&terminal).expect("it is a terminal");
    settings.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Now, &settings).expect("its settings can be changed");
    (File::from(screen), terminal)
}

/// Whether a terminal echoes input.
pub(crate) fn shows_what_is_typed(terminal: &File) -> bool {
    let settings = tcgetattr(terminal).expect("it is a terminal");
    settings.local_modes.contains(LocalModes::ECHO)
}

/// Turns on echo, as terminals have by default.
pub(crate) fn show_what_is_typed(terminal: &File) {
    let mut settings = tcgetattr(terminal).expect("it is a terminal");
    settings.local_modes.insert(LocalModes::ECHO);
    tcsetattr(terminal, OptionalActions::Now, &settings).expect("its settings can be changed");
}
