//! Suites that cross crates.
#![forbid(unsafe_code)]
