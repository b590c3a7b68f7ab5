//! The verifier against tables by hand, and against a judge that is too simple to be wrong.

mod answers;
mod cases;
mod common;
mod multicast;
mod oracle;
mod parts;
mod patterns;
mod transition;
