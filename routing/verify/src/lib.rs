//! Proof of forwarding tables, independent of the engines that made them.
#![forbid(unsafe_code)]
