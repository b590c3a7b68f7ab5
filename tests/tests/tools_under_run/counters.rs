//! `perfquery` and `ibqueryerrors`.

use crate::bench::Bench;
use heddle_tests::fields;
use std::collections::BTreeMap;

/// What each query puts on the link of the host that asks: a packet of 256 bytes and 32 of headers and check (LRH, BTH, DETH, ICRC),
/// counted in units of four bytes.
const WORDS_A_PACKET: u64 = (256 + 8 + 12 + 8 + 4) / 4;

type Counters = BTreeMap<String, String>;

fn number(found: &Counters, name: &str) -> u64 {
    let value = found.get(name).unwrap_or_else(|| panic!("no {name} in {found:#?}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
}

fn query(bench: &Bench, arguments: &[&str]) -> Counters {
    fields(&bench.stock.run("perfquery", arguments))
}

/// The port of a leaf to which the tools' host is cabled, as arguments.
fn entry(bench: &Bench) -> [String; 2] {
    let (leaf, port) = bench.graph.cables[&(bench.host, 1)];
    [bench.lid(leaf), port.to_string()]
}

/// The tool asks for ClassPortInfo and then for the counters: the second query finds both of its own run and the answers of the first,
/// and what the first run sent after its reading. No other packet goes to this host.
#[test]
fn queries_are_counted() {
    let bench = Bench::new();
    let [lid, port] = &entry(&bench);
    for (option, wide) in [(&[][..], false), (&["-x"], true)] {
        let arguments = [option, &[lid, port]].concat();
        let [before, after] = [(); 2].map(|()| query(&bench, &arguments));
        let grown = |name: &str| number(&after, name) - number(&before, name);
        for way in ["Rcv", "Xmit"] {
            assert_eq!(grown(&format!("Port{way}Pkts")), 2, "{way} {before:#?} {after:#?}");
            assert_eq!(grown(&format!("Port{way}Data")), 2 * WORDS_A_PACKET, "{way} {before:#?} {after:#?}");
            if wide {
                assert_eq!(grown(&format!("PortUnicast{way}Pkts")), 2, "{way} {before:#?} {after:#?}");
                assert_eq!(grown(&format!("PortMulticast{way}Pkts")), 0, "{way} {before:#?} {after:#?}");
            }
        }
        assert_eq!(number(&after, "PortSelect").to_string(), *port);
    }
}

#[test]
fn all_ports_together() {
    let bench = Bench::new();
    let lid = bench.switch_lid("spine-1");
    let ports = bench.graph.cables.range((bench.graph.node("spine-1"), 0)..).take_while(|(at, _)| at.0 == bench.graph.node("spine-1"));
    let ports: Vec<String> = ports.map(|((_, port), _)| port.to_string()).collect();
    for option in [&[][..], &["-x"]] {
        let read = |port: &str| query(&bench, &[option, &[&lid, port]].concat());
        let sum = |names: &str| ports.iter().map(|port| number(&read(port), names)).sum::<u64>();
        let before = sum("PortRcvPkts");
        let all = read("255");
        let after = sum("PortRcvPkts");
        assert_eq!(number(&all, "PortSelect"), 255);
        let between = number(&all, "PortRcvPkts");
        assert!((before..=after).contains(&between), "{before} {between} {after}");
        let readings = 2 * ports.len() as u64 + 1;
        assert!(after - before <= 2 * readings, "each reading adds a packet or two: {before} {after}");
    }
    let all = query(&bench, &["-a", &lid]);
    assert_eq!(number(&all, "PortSelect"), 255);
    // One block of lines for each port.
    let each = bench.stock.run("perfquery", &["-l", &lid, "1-3"]);
    let told: Vec<&str> =
        each.lines().filter_map(|line| line.strip_prefix("PortSelect:")).map(|line| line.trim_start_matches('.')).collect();
    assert_eq!(told, ["1", "2", "3"], "{each}");
}

#[test]
fn reset() {
    let bench = Bench::new();
    let [lid, port] = &entry(&bench);
    for option in [&[][..], &["-x"]] {
        let read = |more: &[&str]| query(&bench, &[option, more, &[lid, port]].concat());
        let before = read(&["-r"]);
        assert!(number(&before, "PortRcvPkts") > 2, "{before:#?}");
        // The answer to the reset, and then the two queries of this run and the answer to one.
        let after = read(&[]);
        assert_eq!((number(&after, "PortRcvPkts"), number(&after, "PortXmitPkts")), (2, 2), "{after:#?}");
        bench.stock.run("perfquery", &[option, &["-R", lid, port]].concat());
        let after = read(&[]);
        assert_eq!((number(&after, "PortRcvPkts"), number(&after, "PortXmitPkts")), (2, 2), "{after:#?}");
    }
    // Only the errors: the rest stays.
    bench.stock.run("perfquery", &["-R", lid, port, "0x0fff"]);
    assert!(number(&query(&bench, &[lid, port]), "PortRcvPkts") > 2);
}

/// The attributes of IBA 16.1.4 and A10.5, by the tool's option: one counter of each.
#[test]
fn optional_counters() {
    let bench = Bench::new();
    let [lid, port] = &entry(&bench);
    let options = [
        ("-X", "XmtDataSL0"),
        ("-S", "RcvDataSL0"),
        ("-D", "PortInactiveDiscards"),
        ("-E", "PortLocalPhysicalErrors"),
        ("-T", "SyncHeaderErrorCounter"),
        ("--oprcvcounters", "PortOpRcvPkts"),
        ("--flowctlcounters", "PortXmitFlowPkts"),
        ("--vloppackets", "PortVLOpPackets0"),
        ("--vlopdata", "PortVLOpData0"),
        ("--vlxmitflowctlerrors", "PortVLXmitFlowCtlUpdateErrors0"),
        ("--vlxmitcounters", "PortVLXmitWait0"),
        ("--swportvlcong", "SWPortVLCongestion0"),
        ("--rcvcc", "PortPktRcvFECN"),
        ("--slrcvfecn", "PortSLRcvFECN0"),
        ("--slrcvbecn", "PortSLRcvBECN0"),
        ("--xmitcc", "PortXmitTimeCong"),
        ("--vlxmittimecc", "PortVLXmitTimeCong0"),
    ];
    for (option, counter) in options {
        let found = query(&bench, &[option, lid, port]);
        assert_eq!(found.get("PortSelect"), Some(port), "{option}: {found:#?}");
        number(&found, counter);
    }
    let samples = bench.stock.run("perfquery", &["-c", lid, port]);
    assert!(samples.contains("PortSamplesControl"), "{samples}");
}

#[test]
fn ibqueryerrors() {
    let bench = Bench::new();
    let said = bench.stock.run("ibqueryerrors", &[]);
    let nodes = bench.graph.nodes.len();
    assert!(said.contains(&format!("## Summary: {nodes} nodes checked, 0 bad nodes found")), "{said}");
    assert!(said.contains(" ports checked, 0 ports have errors beyond threshold"), "{said}");
    // What it asks the SA for beside: nothing fails.
    bench.stock.run("ibqueryerrors", &["--details", "--data", "--report-port"]);
}
