//! The listener and what surrounds every handler: limits of time and size, request identifiers, spans, security headers,
//! metrics, and an orderly end.

mod layers;
mod listen;
mod shutdown;

pub use layers::{LayerOptions, RequestId, path_not_found, with_layers};
pub use listen::{ServeOptions, ServeReport, serve};
pub use shutdown::Shutdown;
