//! The text of events.

use heddle_emulator::{Event, Fault, parse_script};
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef};
use heddle_mad::Time;
use std::time::Duration;

fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    for (guid, name) in [(1, "leaf-0"), (2, "leaf-1"), (3, "spine 0;up:1"), (4, "twin"), (5, "twin")] {
        builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(guid), 20, name)).unwrap();
    }
    let at = |node, port| PortRef::new(NodeIndex(node), port);
    builder.connect(at(0, 19), at(2, 1), Link::default()).unwrap();
    builder.connect(at(1, 19), at(2, 2), Link::default()).unwrap();
    builder.build()
}

const fn millis(millis: u64) -> Time {
    Time(millis * 1_000_000)
}

#[test]
fn every_event_has_a_text() {
    let text = "\
# a comment
2s cut leaf-0:19 ; 4s restore leaf-0:19   # and another
300ms cut \"spine 0;up:1\":2\r
1.5s remove \"spine 0;up:1\"; 1m return 0x0000000000000002

50us mute leaf-1; 1s garbage leaf-1 42; 1s garbage leaf-1;1s duplicate leaf-1
1s late leaf-1 300ms; 1s drop leaf-1 30% 7; 1s heal leaf-1; 1s rename leaf-1 \"new name\"
";
    let node = NodeIndex;
    let expected = vec![
        (millis(2000), Event::Cut(PortRef::new(node(0), 19))),
        (millis(4000), Event::Restore(PortRef::new(node(0), 19))),
        (millis(300), Event::Cut(PortRef::new(node(2), 2))),
        (millis(1500), Event::RemoveNode(node(2))),
        (millis(60_000), Event::ReturnNode(node(1))),
        (Time(50_000), Event::Fault(node(1), Fault::Mute)),
        (millis(1000), Event::Fault(node(1), Fault::Garbage { seed: 42 })),
        (millis(1000), Event::Fault(node(1), Fault::Garbage { seed: 0 })),
        (millis(1000), Event::Fault(node(1), Fault::Duplicate)),
        (millis(1000), Event::Fault(node(1), Fault::Late(Duration::from_millis(300)))),
        (millis(1000), Event::Fault(node(1), Fault::Drop { percent: 30, seed: 7 })),
        (millis(1000), Event::Heal(node(1))),
        (millis(1000), Event::Rename(node(1), "new name".to_owned())),
    ];
    assert_eq!(parse_script(text, &fabric()), Ok(expected));
    assert_eq!(parse_script(" ;; \n# nothing\n", &fabric()), Ok(vec![]));
}

#[test]
fn errors_say_where_what_and_what_else() {
    let check = |text: &str, line, column, parts: &[&str]| {
        let error = parse_script(text, &fabric()).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{text}: {error} lacks {part}");
        }
    };
    check("soon cut leaf-0:19", 1, 1, &["\"soon\"", "a time such as"]);
    check("2 cut leaf-0:19", 1, 1, &["a time"]);
    check("-1s cut leaf-0:19", 1, 1, &["a time"]);
    check("1..2s cut leaf-0:19", 1, 1, &["a time"]);
    check("1s cut leaf-0:19\n2s", 2, 3, &["an event is missing"]);
    check("1s ; 2s explode leaf-0", 1, 3, &["an event is missing"]);
    check("1s explode leaf-0", 1, 4, &["\"explode\"", "restore"]);
    check("1s cut leaf-0", 1, 8, &["NODE:PORT"]);
    check("1s cut leaf-0:x", 1, 8, &["NODE:PORT"]);
    check("1s cut leaf-0:300", 1, 8, &["NODE:PORT"]);
    check("1s cut leaf-0:21", 1, 8, &["ports 1 to 20"]);
    check("1s cut leaf-0:4", 1, 8, &["no cable", "19"]);
    check("1s heal leaf-0; 2s cut leaf-O:19", 1, 24, &["leaf-O", "similar names: leaf-0, leaf-1"]);
    check("1s heal twin", 1, 9, &["several nodes", "0x0000000000000004"]);
    check("1s heal \"leaf-0", 1, 9, &["closing quote"]);
    check("1s heal leaf-0 leaf-1", 1, 16, &["the end of the event"]);
    check("1s late leaf-0", 1, 15, &["how late"]);
    check("1s drop leaf-0 101", 1, 16, &["0 to 100"]);
    check("1s garbage leaf-0 many", 1, 19, &["a seed"]);
    check(&format!("1s rename leaf-0 {}", "x".repeat(65)), 1, 18, &["64 bytes"]);
}
