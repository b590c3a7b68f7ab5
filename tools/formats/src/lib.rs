//! Dump formats, in and out.
#![forbid(unsafe_code)]
