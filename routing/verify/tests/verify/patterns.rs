use crate::common::*;
use heddle_fabric::{SwitchIndex, Tables};
use heddle_verify::{Effort, patterns};

/// Two switches with three hosts each and one cable: who sends `k` places on crosses it once, twice or three times each way.
#[test]
fn shifts_over_one_cable() {
    let fabric = generated("ring:2,hosts=3");
    let mut tables = Tables::new(&fabric, "by hand");
    for switch in [SwitchIndex(0), SwitchIndex(1)] {
        for end in fabric.end_ports() {
            let port = if end.switch == switch { end.switch_port } else { fabric.arcs(switch)[0].port };
            tables.row_mut(switch)[end.lid.index()] = port;
        }
    }
    let found = patterns(&fabric, &tables, Effort::default()).unwrap();
    // 1 and 5: nobody shares; 2 and 4: four of six flows share by two; 3: all by three.
    let expected = (1.0 + 2.0 / 3.0 + 1.0 / 3.0 + 2.0 / 3.0 + 1.0) / 5.0;
    assert!((found.shift - expected).abs() < 1e-9, "{found:?}");
    assert_eq!(found.shift_contention, 3);
    // Three flows one way: 0 to 3 of them cross, as hosts are drawn without return.
    assert!(found.bisection > 0.4 && found.bisection < 1.0, "{found:?}");
    assert_eq!(patterns(&fabric, &tables, Effort::default()), Some(found), "the same again");

    // Nothing arrives: no share.
    let empty = Tables::new(&fabric, "nobody");
    let found = patterns(&fabric, &empty, Effort::default()).unwrap();
    assert_eq!((found.bisection, found.permutation, found.shift, found.shift_contention), (0.0, 0.0, 0.0, 0));
}

#[test]
fn one_host_sends_to_nobody() {
    let fabric = generated("ring:2,hosts=0");
    assert_eq!(patterns(&fabric, &Tables::new(&fabric, "nobody"), Effort::default()), None);
}
