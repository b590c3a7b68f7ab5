//! The emulator, seen from outside.

mod adaptive;
mod attributes;
mod classes;
mod clients;
mod control;
mod counters;
mod devices;
mod events;
mod faults;
mod kernel;
mod keys;
mod partitions;
mod random;
mod routes;
mod script;
mod size;
mod support;
mod traffic;
mod traps;
