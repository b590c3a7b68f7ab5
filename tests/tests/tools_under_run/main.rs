//! Stock tools on `heddle emulate`, beside an OpenSM: each ends as it does on hardware, and what it prints agrees with the fabric.
#![forbid(unsafe_code)]

mod bench;
mod counters;
mod ibutils;
mod identity;
mod osmtest;
mod ports;
mod subnet_administration;
mod subnet_management;
mod topology;
mod vendor;
