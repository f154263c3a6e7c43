//! The document layer.
