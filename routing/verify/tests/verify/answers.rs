//! Tables that do not say which SL the packets of switches without hosts have, as files of SLs list hosts alone.

use crate::common::*;
use heddle_fabric::{Fabric, Lanes, Levels, NodeIndex, PortRef, Tables, generate};
use heddle_verify::{check_certificate, prove, verify};
use std::sync::Arc;

/// A ring of six switches; 0, 2 and 4 have a host at port 1. Port 2 leads on and port 3 back.
fn ring() -> Fabric {
    let mut builder = generate("ring:6,hosts=1").unwrap();
    [1, 3, 5].into_iter().for_each(|switch| builder.disconnect(PortRef::new(NodeIndex(switch), 1)));
    built(builder)
}

/// The shorter way round. Half round it is onward, but back from switch 4, so that no circle comes of what hosts send.
fn tables(fabric: &Fabric) -> Tables {
    let mut tables = Tables::new(fabric, "by hand");
    for switch in switches(fabric) {
        for end in fabric.end_ports() {
            let port = match (end.switch.0 + 6 - switch.0) % 6 {
                0 => end.switch_port,
                3 if switch.0 == 4 => 3,
                1..=3 => 2,
                _ => 3,
            };
            tables.row_mut(switch)[end.lid.index()] = port;
        }
    }
    tables
}

/// By hosts' switch and destination; switches without hosts have none.
fn with_levels(fabric: &Fabric, level: impl Fn(u32, u32, bool) -> u8) -> Tables {
    let mut tables = tables(fabric);
    let mut levels = vec![255; 6 * tables.row_len()];
    for from in [0, 2, 4] {
        for end in fabric.end_ports() {
            levels[from as usize * tables.row_len() + end.lid.index()] = level(from, end.switch.0, end.is_host());
        }
    }
    tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
    tables
}

/// Answers of 1 to 4, 3 to 0 and 5 to 2 go half round onward, each over three cables: a circle.
#[test]
fn on_one_lane_an_unknown_level_hides_nothing() {
    let fabric = ring();
    assert!(!verify(&fabric, &tables(&fabric)).deadlock_free());
    assert!(!verify(&fabric, &with_levels(&fabric, |_, _, _| 0)).deadlock_free());
}

/// SL 1 are packets to host 0, questions of host 0, and those of host 4 to switch 0. The answer of 3 to 0 has the SL of the question: on VL 1
/// it goes by the cables after 3, 4 and 5, and there others go by those after 0, 1 and 2. VL 0 is without the turn at 5.
#[test]
fn an_answer_has_the_level_of_the_question() {
    let fabric = Arc::new(ring());
    let level = |from: u32, to: u32, is_host: bool| match (from, to) {
        (_, 0) => 1,
        (0, _) if !is_host => 1,
        _ => 0,
    };
    let proven = prove(Arc::clone(&fabric), with_levels(&fabric, level)).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(proven.certificate().vls, 2);
    check_certificate(&fabric, proven.tables(), proven.certificate()).unwrap();

    // With a question on SL 0, the answer closes the circle of VL 0, and the certificate does not hold.
    let tables = with_levels(&fabric, |from, to, is_host| if (from, to) == (0, 3) { 0 } else { level(from, to, is_host) });
    assert!(!verify(&fabric, &tables).deadlock_free());
    assert!(check_certificate(&fabric, &tables, proven.certificate()).is_err());
}
