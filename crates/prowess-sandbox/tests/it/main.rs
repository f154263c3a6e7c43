//! The walls, tried from inside.

mod walls;
