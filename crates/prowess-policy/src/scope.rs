//! The scopes of grants: paths, hosts, programs, variables. Each is checked once, when it is
//! parsed.

mod host;
mod path;
mod program;
mod variable;

pub use host::{HostError, HostName, HostPattern, HostScope};
pub use path::{PathError, PathPattern, PathRoot, RootedPath, secret_place};
pub use program::{Program, ProgramError};
pub use variable::{
    VariableError, VariableName, is_control, is_credential, is_inherited, is_secret,
};
