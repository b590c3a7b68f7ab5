//! The emulator, seen from outside.

mod attributes;
mod events;
mod random;
mod routes;
mod script;
mod size;
mod support;
