//! `heddle sm` keeps running on Debian's ibsim while a cable, and then a whole leaf, is cut and comes back: the switches have new proven
//! tables, and nothing else changes.
#![forbid(unsafe_code)]

use heddle_fabric::generate;
use heddle_tests::{Dump, Graph, Ibsim, Seat, Stock, Way, assert_agreement, assert_clean_routes, assert_same, netlist};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

#[test]
fn a_spine_link_and_a_leaf_are_cut_and_return() {
    cut_and_restore(Way::Ibsim);
}

#[test]
fn the_same_through_umad() {
    cut_and_restore(Way::Umad);
}

fn cut_and_restore(way: Way) {
    let fabric = generate("clos3:8").unwrap().build();
    let whole = Graph::of(&fabric);
    let mut ibsim = Ibsim::start(&netlist(&fabric));
    let folder = tempfile::tempdir().unwrap();
    let seat = ibsim.seat(whole.first_host().0);
    let mut manager = Manager::start(way, &seat, folder.path());
    let stock = Stock::new(seat);

    manager.wait_until_up(&whole);
    let before = State::of(&stock, &whole, folder.path());

    let spine = whole.node("spine-0-0");
    let mut cut = whole.clone();
    cut.cut((spine, 2));
    ibsim.console(&format!("Unlink \"S-{spine:016x}\"[2]"));
    manager.wait_until_up(&cut);
    State::of(&stock, &cut, folder.path()).assert_untouched(&before, &cut);

    ibsim.console(&format!("ReLink \"S-{spine:016x}\"[2]"));
    manager.wait_until_up(&whole);
    State::of(&stock, &whole, folder.path()).assert_equal(&before);

    // Not the leaf of the host that Heddle runs on.
    let leaf = whole.node("leaf-7-3");
    let mut without = whole.clone();
    without.remove(leaf);
    assert_eq!(without.host_ports.len(), whole.host_ports.len() - 4);
    ibsim.console(&format!("Unlink \"S-{leaf:016x}\""));
    manager.wait_until_up(&without);
    State::of(&stock, &without, folder.path()).assert_untouched(&before, &without);

    ibsim.console(&format!("ReLink \"S-{leaf:016x}\""));
    manager.wait_until_up(&whole);
    State::of(&stock, &whole, folder.path()).assert_equal(&before);

    assert!(ibsim.has_clients(), "Heddle is attached");
    manager.terminate();
    let deadline = Instant::now() + Duration::from_secs(10);
    while ibsim.has_clients() {
        assert!(Instant::now() < deadline, "Heddle keeps its place at ibsim:\n{}", ibsim.log());
    }
}

/// A running `heddle sm`. Ends when dropped.
struct Manager {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Manager {
    fn start(way: Way, seat: &Seat, folder: &Path) -> Self {
        let mut child = way.manager(seat).arg("--dump").arg(folder).stdout(Stdio::piped()).spawn().expect("heddle starts");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, said: Vec::new() }
    }

    /// Until it says that a fabric of this size is up.
    fn wait_until_up(&mut self, fabric: &Graph) {
        let switches = fabric.nodes.keys().filter(|guid| fabric.is_switch(**guid)).count();
        let size = format!("found {switches} switches, {} hosts, {} cables", fabric.nodes.len() - switches, fabric.cables.len() / 2);
        self.wait_for(&size);
        self.wait_for("SUBNET UP");
    }

    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("\"{text}\" does not come:\n{}", self.said.join("\n")));
            assert!(!line.contains("finding") && !line.contains("NOT ROUTED"), "{line}\n{}", self.said.join("\n"));
            self.said.push(line);
            if self.said.last().is_some_and(|line| line.contains(text)) {
                return;
            }
        }
    }

    /// Ends it by SIGTERM.
    fn terminate(mut self) {
        let killed = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.child.id())]).status();
        assert!(killed.is_ok_and(|status| status.success()), "SIGTERM can be sent");
        self.wait_for("stopped");
        let status = self.child.wait().expect("heddle ends");
        assert_eq!(status.code(), Some(0), "{}", self.said.join("\n"));
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that stock tools see of a fabric.
struct State {
    dump: Dump,
    /// A line of `iblinkinfo` for each port.
    links: BTreeMap<(u64, u8), String>,
    /// `smpquery portinfo` of some ports, by LID and port.
    port_infos: BTreeMap<(u16, u8), BTreeMap<String, String>>,
}

impl State {
    /// After all tools agree, and all routes are clean.
    fn of(stock: &Stock, expected: &Graph, folder: &Path) -> Self {
        let dump = Dump::read(folder);
        assert_agreement(stock, expected, &dump);
        assert_clean_routes(folder, expected.host_ports.len() as u64);
        for from in expected.host_ports.values() {
            for (to, lid) in &dump.lids {
                expected.walk(&dump.lfts, *from, *to, *lid).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        let links = stock.links().into_iter().map(|(at, link)| (at, link.line)).collect();
        let some = expected.cables.keys().step_by(31);
        let some = some.map(|&at| (dump.lids[&expected.port_guid(at)], at.1));
        let port_infos = some.map(|(lid, port)| ((lid, port), stock.port_info(lid, port))).collect();
        Self { dump, links, port_infos }
    }

    fn assert_equal(&self, other: &Self) {
        assert_same("LIDs", &self.dump.lids, &other.dump.lids);
        assert_same("tables", &self.dump.lfts, &other.dump.lfts);
        assert_same("ports by iblinkinfo", &self.links, &other.links);
        assert_same("PortInfo by smpquery", &self.port_infos, &other.port_infos);
    }

    /// What is left of the fabric is as before, its tables excepted.
    fn assert_untouched(&self, before: &Self, left: &Graph) {
        assert_ne!(self.dump.lfts, before.dump.lfts);
        let lids = before.dump.lids.iter().filter(|(guid, _)| self.dump.lids.contains_key(guid)).map(|(guid, lid)| (*guid, *lid));
        assert_same("LIDs", &self.dump.lids, &lids.collect());
        let cabled: Vec<(u64, u8)> = left.cables.keys().map(|&at| (left.port_guid(at), at.1)).collect();
        for at in cabled {
            assert_eq!(self.links.get(&at), before.links.get(&at), "by iblinkinfo");
        }
        for (at, info) in &self.port_infos {
            if let Some(before) = before.port_infos.get(at) {
                assert_same(&format!("PortInfo of LID {} port {}", at.0, at.1), info, before);
            }
        }
    }
}
