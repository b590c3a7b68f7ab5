//! `heddle emulate` and `heddle fabric` as a user types them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const HEDDLE: &str = env!("CARGO_BIN_EXE_heddle");

fn fresh_name() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    format!("heddle-cli-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

fn run(arguments: &[&str]) -> Output {
    Command::new(HEDDLE).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A command that ends with status 2 and says this on standard error.
#[track_caller]
fn assert_fails(arguments: &[&str], says: &[&str]) {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for text in says {
        assert!(errors.contains(text), "\"{text}\" is missing:\n{errors}");
    }
}

/// A running emulator, killed when dropped.
struct Emulator {
    name: String,
    child: Child,
    said: BufReader<ChildStdout>,
    ready: String,
}

impl Emulator {
    /// Starts it without a standard input, and waits for the line that says that it is ready.
    fn start(arguments: &[&str]) -> Self {
        let name = fresh_name();
        let mut command = Command::new(HEDDLE);
        command.arg("emulate").args(arguments).args(["--name", &name]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        said.read_line(&mut ready).unwrap();
        Self { name, child, said, ready }
    }

    /// What a command to it prints.
    fn fabric(&self, command: &[&str]) -> String {
        let output = run(&[&["fabric", &self.name], command].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_says_how_to_attach_and_ends_by_a_signal_with_nothing_left() {
    for signal in ["INT", "TERM"] {
        let mut emulator = Emulator::start(&["gen:clos2:8"]);
        for text in ["12 switches, 32 hosts, 64 cables", "ready", &emulator.name] {
            assert!(emulator.ready.contains(text), "{}", emulator.ready);
        }
        // The end of its input is none of it: it still serves.
        assert!(emulator.fabric(&["status"]).contains("32"));
        let sockets = || fs::read_to_string("/proc/net/unix").unwrap();
        assert!(sockets().contains(&format!("@{}:", emulator.name)));

        let kill = Command::new("kill").args(["-s", signal, &emulator.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        assert_eq!(emulator.child.wait().unwrap().code(), Some(0), "{signal}");
        let mut rest = String::new();
        emulator.said.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "one line is all it says");
        assert!(!sockets().contains(&format!("@{}:", emulator.name)));
        assert_fails(&["fabric", &emulator.name, "status"], &["no emulator", &emulator.name, "heddle emulate"]);
    }
}

#[test]
fn commands_happen_and_wrong_ones_are_explained() {
    let emulator = Emulator::start(&["gen:clos2:8"]);
    assert!(emulator.fabric(&["cut", "leaf-0:5"]).contains("cut leaf-0:5"));
    let status = emulator.fabric(&["--json", "status"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["ok"]["links"]["down"], 1, "{status}");
    emulator.fabric(&["restore leaf-0:5"]);

    assert_fails(&["fabric", &emulator.name, "cut", "leef-0:5"], &["leef-0", "similar", "leaf-0"]);
    assert_fails(&["fabric", &emulator.name, "cut", "leaf-0:99"], &["leaf-0", "99"]);
    assert_fails(&["fabric", &emulator.name, "frobnicate"], &["frobnicate"]);
    assert_fails(&["fabric", &emulator.name], &["COMMAND"]);
    assert!(emulator.fabric(&["status"]).contains("32"), "it serves on");
}

#[test]
fn a_plan_is_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan");
    fs::write(&plan, "0s cut leaf-0:5\n9m restore leaf-0:5\n").unwrap();
    let emulator = Emulator::start(&["gen:clos2:8", "--timing", "hardware", "--plan", plan.to_str().unwrap()]);
    let still_to_come = emulator.fabric(&["plan"]);
    assert!(still_to_come.contains("restore leaf-0:5") && !still_to_come.contains("cut"), "{still_to_come}");

    fs::write(&plan, "1s cut leef-0:5\n").unwrap();
    let plan = plan.to_str().unwrap();
    assert_fails(&["emulate", "gen:clos2:8", "--plan", plan, "--name", &fresh_name()], &[plan, "line 1", "leaf-0"]);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let emulator = Emulator::start(&["gen:ring:4"]);
    assert_fails(&["emulate", "gen:ring:4", "--name", &emulator.name], &["taken", &emulator.name]);
    assert_fails(&["emulate", "gen:ring:4", "--name", "a:b"], &["a:b"]);
    assert_fails(&["emulate", "gen:ring:4", "--timing", "soon"], &["instant", "hardware"]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("net");
    fs::write(&file, "Switch 300 \"S1\"\n[1] \"H1\"[1]\nHca 1 \"H1\"\n[1] \"S1\"[1]\n").unwrap();
    let file = file.to_str().unwrap();
    assert_fails(&["emulate", file, "--name", &fresh_name()], &[file, ":1:", "300"]);
}
