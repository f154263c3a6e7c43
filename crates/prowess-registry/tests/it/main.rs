//! The registry over real HTTP on the loopback address, with real storage and a real database.

mod adapters;
mod attacks;
mod clients;
mod community;
mod description;
mod discovery;
mod load;
mod mcp;
mod migrations;
mod mirror;
mod names;
mod postgres;
mod publishing;
mod revocation;
mod scene;
mod storages;
mod trusted_publishing;
mod visibility;
