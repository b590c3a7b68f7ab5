//! The data plane.

mod deadlock;
mod oracle;
mod rules;
mod support;
