use crate::Seat;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `heddle` program, built like the running test: the same profile, in the same target folder.
///
/// Cargo builds a crate's own programs for its tests, but not those of other crates.
///
/// # Panics
/// When it cannot be built: with Cargo's output.
pub fn heddle() -> &'static Path {
    &built().0
}

/// A program that speaks with the kernel itself, whose scenarios test the preload library: an example of `heddle-preload`, because it has
/// to make system calls as a C program does. The library of `heddle run` is built along with it.
///
/// # Panics
/// As [`heddle`].
pub fn umad_client() -> &'static Path {
    &built().1
}

fn built() -> &'static (PathBuf, PathBuf) {
    static BUILT: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    BUILT.get_or_init(build)
}

/// How Heddle comes to a simulated fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By ibsim's own protocol.
    Ibsim,
    /// By the kernel's interface, which a preload library imitates.
    Umad,
}

impl Way {
    /// `heddle sm --engine up-down` on a node.
    pub fn manager(self, seat: &Seat) -> Command {
        let mut command = match self {
            Self::Ibsim => Command::new(heddle()),
            Self::Umad => seat.command(heddle()),
        };
        match self {
            Self::Ibsim => command.args(["sm", "--ibsim", seat.simulator(), "--node", seat.node()]),
            Self::Umad => command.args(["sm", "--umad"]),
        };
        command.args(["--engine", "up-down"]);
        command
    }
}

fn build() -> (PathBuf, PathBuf) {
    let test = std::env::current_exe().expect("a test is a file");
    // TARGET/PROFILE/deps/TEST, or TARGET/TRIPLE/PROFILE/deps/TEST.
    let profile_folder = test.parent().and_then(Path::parent).expect("tests are in the target folder");
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let targets = profile_folder.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").exists());
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--package", "heddle", "--package", "heddle-preload", "--bins", "--lib", "--examples"]);
    command.args(["--message-format", "json-render-diagnostics"]);
    command.args(["--profile", profile, "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")]);
    if let Some(targets) = targets {
        command.arg("--target-dir").arg(targets);
    }
    let output = command.output().unwrap_or_else(|error| panic!("cannot run Cargo: {error}"));
    assert!(output.status.success(), "heddle cannot be built:\n{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut programs: Vec<PathBuf> = built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect();
    let mut take = |name: &str| match programs.iter().position(|program| program.file_name().is_some_and(|file| file == name)) {
        Some(found) => programs.swap_remove(found),
        None => panic!("Cargo names no program {name}:\n{messages}"),
    };
    (take("heddle"), take("umad-client"))
}
