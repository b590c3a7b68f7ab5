//! A fabric that answers MADs in process.
#![forbid(unsafe_code)]
