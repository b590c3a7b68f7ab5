//! Routing engines: pure functions from a fabric to forwarding tables.
#![forbid(unsafe_code)]
