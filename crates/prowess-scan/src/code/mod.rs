//! Code to facts, one file per language.

pub(crate) mod assemble;
pub(crate) mod flow;
pub(crate) mod javascript;
pub(crate) mod lexical;
pub(crate) mod python;
pub(crate) mod shell;
