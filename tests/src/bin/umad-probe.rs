//! Holds the conversation of the transport tests over umad. The tests run it under ibsim's preload library, which works for whole
//! processes only.
#![forbid(unsafe_code)]

use heddle_mad::transport::Umad;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Umad::open(std::env::args().nth(1).as_deref()) {
        Ok(mut umad) => {
            heddle_tests::converse(&mut umad, &mut |line| {
                let mut out = std::io::stdout().lock();
                // A test that stopped listening ends this process anyway.
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
