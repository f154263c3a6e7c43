//! State that this process creates once: the machine, and the library of its skills.

use std::sync::{Arc, OnceLock};

use prowess_engine::World;
use prowess_library::Library;

use crate::error::Error;

/// The library of this process.
pub(crate) fn library() -> Result<Arc<Library>, Error> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(Arc::clone(library));
    }
    let world = World::of_this_process().map_err(|error| Error::failed(error.to_string()))?;
    Ok(Arc::clone(LIBRARY.get_or_init(|| Arc::new(Library::open(Arc::new(world))))))
}

/// The machine, as it was at the first call.
pub(crate) fn world() -> Result<Arc<World>, Error> {
    library().map(|library| Arc::clone(library.world()))
}
