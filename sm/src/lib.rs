//! The subnet manager as one state machine.
#![forbid(unsafe_code)]
