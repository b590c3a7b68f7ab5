//! Every fault of the emulator, and how OpenSM takes it.
//!
//! Two spines with a free port each, three leaves with two hosts each; OpenSM is on the first host. Whatever breaks between leaves and
//! spines, there is another way. What OpenSM 3.3.23 makes of it, its log says, and stock tools find.
#![forbid(unsafe_code)]

use heddle_tests::{Emulate, Graph, OpenSm, Preload, Seat, Stock, heddle, lids, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// It looks often, and gives up soon on who does not answer.
const OPTIONS: &str = "sweep_interval 1\ntransaction_timeout 100\ntransaction_retries 3\nbabbling_port_policy TRUE\n";

struct Site {
    _emulate: Emulate,
    /// OpenSM's.
    seat: Seat,
    opensm: OpenSm,
    /// On the first host of leaf-1.
    stock: Stock,
    graph: Graph,
}

impl Site {
    /// A fabric that OpenSM has brought up.
    fn up() -> Self {
        let mut site = Self::start("");
        site.opensm.wait_until_up(0);
        site
    }

    /// After these statements, OpenSM is started.
    fn start(statements: &str) -> Self {
        let fabric = heddle_fabric::generate("clos2:4,leaves=3").unwrap().build();
        let emulate = Emulate::start(&fabric);
        let graph = Graph::of(&fabric);
        let at = |name: &str| emulate.seat(format!("H-{:016x}", graph.node(name)), Preload::Ibsim);
        let seat = at("host-0-0");
        if !statements.is_empty() {
            say(&seat, statements);
        }
        let opensm = opensm(&seat);
        let stock = Stock::new(at("host-1-0"));
        Self { _emulate: emulate, seat, opensm, stock, graph }
    }

    /// Lets something happen, or asks.
    fn say(&self, command: &str) -> Value {
        say(&self.seat, command)
    }

    /// Lets something happen that OpenSM answers by a sweep, after which the subnet is up.
    fn after(&mut self, statements: &str) {
        let ups = self.opensm.ups();
        self.say(statements);
        self.opensm.wait_until_up(ups);
    }

    /// Lets something happen, and waits until OpenSM has logged this once more.
    fn says(&mut self, statements: &str, text: &str) {
        let before = self.opensm.log().matches(text).count();
        self.say(statements);
        self.opensm.wait_for(text, before + 1);
    }

    /// What OpenSM logs when it drops a node's port.
    fn removed(&self, node: &str) -> String {
        let guid = self.graph.node(node);
        format!("Removed port with GUID:{:#018x}", self.graph.host_ports.get(&(guid, 1)).copied().unwrap_or(guid))
    }

    /// As `iblinkinfo` shows a port.
    fn line(&self, node: &str, port: u8) -> String {
        self.stock.links()[&(self.graph.node(node), port)].line.clone()
    }

    /// The LID of a switch.
    fn lid(&self, switch: &str) -> String {
        lids(&self.stock.fabric())[&self.graph.node(switch)].to_string()
    }

    /// The fabric without some of it.
    fn without(&self, cut: &[(&str, u8)], removed: &[&str]) -> Graph {
        let mut graph = self.graph.clone();
        for &(node, port) in cut {
            graph.cut((self.graph.node(node), port));
        }
        for name in removed {
            graph.remove(self.graph.node(name));
        }
        graph
    }

    /// Waits until stock tools find this fabric, and routes in it from everywhere to everywhere.
    fn settles(&self, expected: &Graph) {
        let wrong = || wrong(&self.stock, expected);
        wait_until(|| format!("the fabric is whole: {:?}\n{}", wrong(), tail(&self.opensm.log())), || wrong().is_ok());
    }
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// What stock tools find wrong.
fn wrong(stock: &Stock, expected: &Graph) -> Result<(), String> {
    let found = stock.fabric();
    let graph = Graph::of(&found);
    if graph.cables != expected.cables {
        return Err(format!("cables: {:?}", graph.cables));
    }
    let lids: BTreeMap<u64, u16> = lids(&found);
    let tables = stock.lfts();
    for from in expected.end_ports() {
        for to in expected.end_ports() {
            let lid = lids.get(&to).copied().ok_or(format!("{to:#x} has no LID"))?;
            expected.walk(&tables, from, to, lid)?;
        }
    }
    let links = stock.links();
    match links.values().find(|link| link.peer.is_some() && link.state != "Active") {
        Some(link) => Err(link.line.clone()),
        None => Ok(()),
    }
}

fn opensm(seat: &Seat) -> OpenSm {
    let options = seat.directory().join("opensm.conf");
    std::fs::write(&options, OPTIONS).unwrap();
    OpenSm::start(seat, &["--config", options.to_str().unwrap()])
}

/// A command to the emulator.
fn say(seat: &Seat, command: &str) -> Value {
    let said = Command::new(heddle()).args(["fabric", seat.simulator(), "--json", command]).output().unwrap();
    assert!(said.status.success(), "{command}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice::<Value>(&said.stdout).unwrap()["ok"].take()
}

/// What OpenSM logs of a trap 128, and of who does not answer.
const TRAP_128: &str = "num:128 (Link state change)";
const TIMEOUT: &str = "MAD completed in error (IB_TIMEOUT)";

#[test]
fn a_cut_cable_is_routed_around() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    site.settles(&whole);
    site.says("cut leaf-0:3", TRAP_128);
    site.settles(&site.without(&[("leaf-0", 3)], &[]));
    site.says("restore leaf-0:3", TRAP_128);
    site.settles(&whole);
}

#[test]
fn a_node_without_cables_or_power_is_dropped_and_comes_back() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    let left = site.without(&[], &["spine-0"]);
    let removed = site.removed("spine-0");
    for (goes, comes) in [("cut spine-0", "restore spine-0"), ("remove spine-0", "return spine-0")] {
        site.says(goes, &removed);
        site.settles(&left);
        site.says(comes, TRAP_128);
        site.settles(&whole);
    }
}

#[test]
fn a_rebooted_switch_is_programmed_again_with_the_same_lid() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    site.settles(&whole);
    let before = (lids(&site.stock.fabric()), site.stock.lfts());
    let removed = site.removed("leaf-2");
    site.says("reboot leaf-2 for 2s", &removed);
    site.settles(&whole);
    assert_eq!((lids(&site.stock.fabric()), site.stock.lfts()), before);
    // So fast that no sweep finds it gone.
    site.says("reboot leaf-2 for 1ms", TRAP_128);
    site.settles(&whole);
}

#[test]
fn moved_and_swapped_cables_are_found_where_they_are() {
    let mut site = Site::up();
    let [leaf_0, leaf_1, leaf_2, spine_0] = ["leaf-0", "leaf-1", "leaf-2", "spine-0"].map(|name| site.graph.node(name));
    let mut moved = site.graph.clone();
    moved.cut((spine_0, 1));
    moved.connect((leaf_0, 3), (spine_0, 4));
    site.says("move spine-0:1 spine-0:4", TRAP_128);
    site.settles(&moved);
    let hosts = [(leaf_1, 2), (leaf_2, 2)].map(|at| moved.cables[&at]);
    [(leaf_1, 2), (leaf_2, 2)].into_iter().for_each(|at| moved.cut(at));
    moved.connect((leaf_1, 2), hosts[1]);
    moved.connect((leaf_2, 2), hosts[0]);
    site.says("swap leaf-1:2 leaf-2:2", TRAP_128);
    site.settles(&moved);
}

#[test]
fn a_split_costs_hosts_their_place_and_a_merge_gives_it_back() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    site.settles(&whole);
    let before = lids(&site.stock.fabric());
    let removed = site.removed("host-2-1");
    site.says("split leaf-2", &removed);
    site.settles(&site.without(&[], &["leaf-2"]));
    site.says("merge leaf-2", TRAP_128);
    site.settles(&whole);
    assert_eq!(lids(&site.stock.fabric()), before);
}

#[test]
fn a_degraded_link_is_brought_up_with_what_it_has() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    for (statement, seen) in [
        ("degrade leaf-0:3 1x", "1X        53.125 Gbps Active"),
        ("degrade leaf-0:3 SDR", "1X           2.5 Gbps Active"),
        ("restore leaf-0:3", "4X        53.125 Gbps Active"),
    ] {
        site.says(statement, TRAP_128);
        site.settles(&whole);
        assert!(site.line("leaf-0", 3).contains(seen), "{statement}: {}", site.line("leaf-0", 3));
    }
}

#[test]
fn a_mute_switch_is_dropped_and_comes_back() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    let removed = site.removed("spine-1");
    site.says("mute spine-1", TIMEOUT);
    site.opensm.wait_for(&removed, 1);
    site.after("heal spine-1");
    site.settles(&whole);
}

/// Each MAD is sent up to four times.
#[test]
fn packets_that_get_lost_are_sent_again() {
    for fault in ["loss all 5", "corrupt all 5", "drop all 10 1"] {
        let mut site = Site::start(&format!("seed 1; {fault}"));
        let whole = site.graph.clone();
        site.opensm.wait_until_up(0);
        let lost = site.say("counters")["lost"].to_string();
        assert_eq!(lost.contains("the cable lost it"), fault.starts_with("loss"), "{lost}");
        assert_eq!(lost.contains("the cable damaged it"), fault.starts_with("corrupt"), "{lost}");
        site.say("restore all; heal all");
        site.settles(&whole);
    }
}

#[test]
fn packets_that_come_late_twice_or_in_another_order_do_no_harm() {
    for fault in ["delay all 1ms", "reorder all 30", "repeat all 30", "duplicate all", "late all 20ms", "slow all 1ms"] {
        let mut site = Site::start(fault);
        let whole = site.graph.clone();
        site.opensm.wait_until_up(0);
        site.say("restore all; heal all");
        site.settles(&whole);
    }
}

#[test]
fn a_queue_that_overflows_costs_retries_only() {
    let mut site = Site::start("slow leaf-1 1ms; queue leaf-1 2");
    let whole = site.graph.clone();
    site.opensm.wait_until_up(0);
    site.say("heal leaf-1");
    site.settles(&whole);
    let lid = site.lid("leaf-1");
    let dropped = |port: &str| heddle_tests::fields(&site.stock.run("perfquery", &[&lid, port]))["VL15Dropped"].parse::<u32>().unwrap();
    assert!(dropped("3") + dropped("4") > 0);
}

#[test]
fn an_attribute_that_is_never_answered_is_asked_for_again() {
    let mut site = Site::start("ignore spine-1 PortInfo");
    let whole = site.graph.clone();
    site.opensm.wait_for("Timeout while getting attribute 0x15 (PortInfo)", 1);
    site.says("heal spine-1", "SUBNET UP");
    site.settles(&whole);
}

#[test]
fn a_table_that_is_refused_is_written_again() {
    let mut site = Site::start("refuse leaf-0 LinearForwardingTable bad-field");
    let whole = site.graph.clone();
    site.opensm.wait_for("Received MAD with error status = 0x1C", 1);
    site.opensm.wait_for("(leaf-0) is not up to date", 1);
    // Until something else happens it leaves it at that.
    site.says("heal leaf-0; cut leaf-0:3; restore leaf-0:3", TRAP_128);
    site.settles(&whole);
}

/// OpenSM believes what it is told, and other tools see what is true.
#[test]
fn a_table_that_is_forgotten_is_missed_by_tools_only() {
    let mut site = Site::start("forget leaf-0 LinearForwardingTable");
    let whole = site.graph.clone();
    site.opensm.wait_until_up(0);
    let table = site.stock.lfts().remove(&site.graph.node("leaf-0")).unwrap_or_default();
    assert!(table.iter().all(|&port| port == 255), "{table:?}");
    site.says("heal leaf-0; reboot leaf-0 for 1ms", TRAP_128);
    site.settles(&whole);
}

/// OpenSM waits for ever for an answer that came with another attribute, but lives, and another one finds all in order.
#[test]
fn nonsense_is_survived() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    site.says("garbage leaf-2 1; cut leaf-0:3; restore leaf-0:3", TRAP_128);
    site.say("heal leaf-2; reboot leaf-2 for 1ms");
    site.opensm.kill();
    site.opensm = opensm(&site.seat);
    site.settles(&whole);
}

#[test]
fn a_babbling_port_is_switched_off() {
    let mut site = Site::up();
    site.says("babble leaf-2:2 129 2ms", "num:129 (Local Link integrity threshold reached) Producer:2 (Switch)");
    let line = || site.line("leaf-2", 2);
    wait_until(line, || line().contains("Disabled"));
    site.say("heal leaf-2");
}

#[test]
fn a_duplicate_guid_is_told() {
    let mut site = Site::up();
    site.says("guid host-1-1 host-2-1; cut leaf-0:3", "ERR 0D01: Found duplicated node GUID");
}

#[test]
fn a_new_name_is_asked_for() {
    let mut site = Site::up();
    let lid = site.lid("spine-0");
    site.says("rename spine-0 \"new name\"", "Trap 144 Node description update");
    let name = || format!("{:?}", site.stock.end("saquery", &["NR", &lid]));
    wait_until(name, || name().contains("NodeDescription.........new name"));
}

#[test]
fn a_key_of_somebody_else_keeps_opensm_out() {
    let mut site = Site::up();
    let whole = site.graph.clone();
    let removed = site.removed("spine-0");
    site.says("mkey spine-0 0x1234 3; cut leaf-0:3; restore leaf-0:3", "Possible mis-set mkey?");
    site.opensm.wait_for(&removed, 1);
    site.after("mkey spine-0 0");
    site.settles(&whole);
}

#[test]
fn a_damaged_p_key_table_is_mended() {
    let site = Site::up();
    let lid = lids(&site.stock.fabric())[&site.graph.host_ports[&(site.graph.node("host-2-0"), 1)]].to_string();
    let keys = || site.stock.run("smpquery", &["pkeys", &lid]);
    assert!(keys().contains("0: 0xffff 0x0000"), "{}", keys());
    site.say("pkey host-2-0:1 1 0x1234");
    assert!(keys().contains("0: 0xffff 0x1234"), "{}", keys());
    // OpenSM reads the tables of ports that are in INIT only.
    site.say("cut host-2-0:1; restore host-2-0:1");
    let seen = || site.stock.end("smpquery", &["pkeys", &lid]).said;
    wait_until(seen, || seen().contains("0: 0xffff 0x0000"));
}

#[test]
fn counters_rise() {
    let site = Site::up();
    site.say("errors leaf-0:3 symbol 10; errors leaf-0:3 vl15 3");
    let said = heddle_tests::fields(&site.stock.run("perfquery", &[&site.lid("leaf-0"), "3"]));
    assert_eq!((said["SymbolErrorCounter"].as_str(), said["VL15Dropped"].as_str()), ("10", "3"));
}

#[test]
fn a_random_plan_is_survived() {
    let site = Site::up();
    let whole = site.graph.clone();
    let plan = "seed 7; 0s..3s 10x cut any link for 100ms..500ms; 0s..3s 2x reboot any switch for 100ms; 0s..3s 3x mute any node for 300ms";
    let told = site.say(plan);
    let events = told.as_array().unwrap().len();
    assert_eq!(events, 1 + 2 * 10 + 2 + 2 * 3, "{told}");
    wait_until(|| "the plan ends".to_owned(), || site.say("plan") == serde_json::json!([]));
    site.settles(&whole);
}

#[test]
fn nothing_is_left_out() {
    let here = include_str!("faults_on_emulator.rs");
    let is_tried = |verb: &&heddle_emulator::Verb| ["groups"].contains(&verb.name) || here.contains(&format!("{} ", verb.name));
    let left_out: Vec<&str> = heddle_emulator::VERBS.iter().filter(|verb| !is_tried(verb)).map(|verb| verb.name).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}
