//! A server in a thread of the test, and its clients, which behave, misbehave and die.

mod clients;
mod commands;
mod names;
mod support;
