//! `ibstat`, `ibaddr`, `sminfo`: who am I, and who manages.

use crate::bench::Bench;

#[test]
fn ibstat() {
    let bench = Bench::new();
    let said = bench.stock.run("ibstat", &[]);
    let (adapter, ports) = said.split_once("\tPort 1:").expect("a port");
    for line in [format!("Node GUID: {:#018x}", bench.host), "Number of ports: 2".into()] {
        assert!(adapter.contains(&line), "{line}: {said}");
    }
    let ports: Vec<&str> = ports.split("\tPort 2:").collect();
    assert_eq!(ports.len(), 2, "{said}");
    for (text, (guid, lid)) in ports.iter().zip(bench.own_ports()) {
        let expected = [
            "State: Active".to_owned(),
            "Physical state: LinkUp".into(),
            "Rate: 200".into(), // 4x HDR, in Gb/s.
            format!("Base lid: {lid}"),
            "LMC: 0".into(),
            format!("SM lid: {}", bench.lid(bench.sm_port)),
            format!("Port GUID: {guid:#018x}"),
            "Link layer: InfiniBand".into(),
        ];
        for line in expected {
            assert!(text.lines().any(|found| found.trim() == line), "{line}: {said}");
        }
    }
    let adapters = bench.stock.run("ibstat", &["-l"]);
    assert_eq!(adapters.lines().count(), 1, "{adapters}");
    let guids: Vec<String> = bench.own_ports().iter().map(|(guid, _)| format!("{guid:#018x}")).collect();
    assert_eq!(bench.stock.run("ibstat", &["-p"]).lines().collect::<Vec<_>>(), guids);
}

#[test]
fn ibaddr() {
    let bench = Bench::new();
    for (port, (guid, lid)) in (1..).zip(bench.own_ports()) {
        let said = bench.stock.run("ibaddr", &["-P", &port.to_string()]);
        // Of the GUID in a GID, the tool prints groups of four digits without leading zeros.
        assert_eq!(said.trim(), format!("GID fe80::{:x} LID start {lid:#x} end {lid:#x}", guid & 0xffff), "{guid:#x}");
    }
}

#[test]
fn sminfo() {
    let bench = Bench::with(&["--priority", "5"]);
    let said = bench.stock.run("sminfo", &[]);
    let lid = bench.lid(bench.sm_port);
    assert!(said.contains(&format!("sm lid {lid} sm guid {:#x}, activity count ", bench.sm_port)), "{said}");
    assert!(said.contains("priority 5 state 3 SMINFO_MASTER"), "{said}");
}
