//! The text of events.

use heddle_emulator::{CableFault, ErrorCounter, Event, Fault, LinkTrouble, Place, Subject, VERBS, parse_script};
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{AttributeId, Class, Status};
use proptest::prelude::*;
use std::time::Duration;

fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    for (guid, name) in [(1, "leaf-0"), (2, "leaf-1"), (3, "spine 0;up:1"), (4, "twin"), (5, "twin")] {
        builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(guid), 20, name)).unwrap();
    }
    builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(6), 1, "all")).unwrap();
    builder.connect(at(0, 19), at(2, 1), Link::default()).unwrap();
    builder.connect(at(1, 19), at(2, 2), Link::default()).unwrap();
    builder.build()
}

const fn at(node: u32, port: u8) -> PortRef {
    PortRef::new(NodeIndex(node), port)
}

const fn millis(millis: u64) -> Time {
    Time(millis * 1_000_000)
}

fn parse(text: &str) -> Vec<(Time, Event)> {
    parse_script(text, &fabric()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What happens by a statement.
fn events(statement: &str) -> Vec<Event> {
    parse(&format!("1s {statement}")).into_iter().map(|(_, event)| event).collect()
}

#[test]
fn a_script_has_times_comments_and_quotes() {
    let text = "\
# a comment
2s cut leaf-0:19 ; 4s restore leaf-0:19   # and another
300ms cut \"spine 0;up:1\":2\r
1.5s remove \"spine 0;up:1\"; 1m return 0x0000000000000002

50us mute leaf-1
";
    let expected = vec![
        (millis(2000), Event::Cut(at(0, 19).into())),
        (millis(4000), Event::Restore(at(0, 19).into())),
        (millis(300), Event::Cut(at(2, 2).into())),
        (millis(1500), Event::RemoveNode(NodeIndex(2))),
        (millis(60_000), Event::ReturnNode(NodeIndex(1))),
        (Time(50_000), Event::Fault(NodeIndex(1), Fault::Mute)),
    ];
    assert_eq!(parse(text), expected);
    assert_eq!(parse(" ;; \n# nothing\n"), []);
}

#[test]
fn every_verb_has_an_event() {
    let leaf = NodeIndex(1);
    let cable = |fault| Event::Cable(at(0, 19).into(), fault);
    let fault = |fault| Event::Fault(leaf, fault);
    let smp = |id| Subject { class: Class::SUBN_LID, attribute: AttributeId(id) };
    let port_counters = Subject { class: Class::PERF, attribute: AttributeId(0x12) };
    let expected = [
        ("cut leaf-0:19", Event::Cut(at(0, 19).into())),
        ("cut leaf-0", Event::Cut(NodeIndex(0).into())),
        ("cut \"spine 0;up:1\"", Event::Cut(NodeIndex(2).into())),
        ("cut S-0000000000000002:19", Event::Cut(at(1, 19).into())),
        ("cut all", Event::Cut(Place::Everywhere)),
        ("cut \"all\"", Event::Cut(NodeIndex(5).into())),
        ("restore leaf-1:19", Event::Restore(at(1, 19).into())),
        ("degrade leaf-0:19 1x", cable(CableFault::Width(LinkWidth::X1))),
        ("degrade leaf-0:19 sdr", cable(CableFault::Speed(LinkSpeed::Sdr))),
        ("loss leaf-0:19 10%", cable(CableFault::Loss(10))),
        ("corrupt leaf-0:19 10", cable(CableFault::Corrupt(10))),
        ("delay leaf-0:19 3ms", cable(CableFault::Delay(Duration::from_millis(3)))),
        ("reorder leaf-0:19 100", cable(CableFault::Reorder(100))),
        ("repeat leaf-0:19 0", cable(CableFault::Repeat(0))),
        ("move leaf-0:19 leaf-1:4", Event::Move { from: at(0, 19), to: at(1, 4) }),
        ("swap leaf-0:19 leaf-1:4", Event::Swap(at(0, 19), at(1, 4))),
        ("split leaf-0 leaf-1", Event::Split(vec![NodeIndex(0), NodeIndex(1)])),
        ("merge leaf-0", Event::Merge(vec![NodeIndex(0)])),
        ("remove leaf-1", Event::RemoveNode(leaf)),
        ("return leaf-1", Event::ReturnNode(leaf)),
        ("reboot leaf-1", Event::Reboot(leaf, Duration::from_secs(1))),
        ("reboot leaf-1 for 20s", Event::Reboot(leaf, Duration::from_secs(20))),
        ("mute leaf-1", fault(Fault::Mute)),
        ("heal leaf-1", Event::Heal(leaf)),
        ("garbage leaf-1 42", fault(Fault::Garbage { seed: 42 })),
        ("garbage leaf-1", fault(Fault::Garbage { seed: 0 })),
        ("duplicate leaf-1", fault(Fault::Duplicate)),
        ("late leaf-1 300ms", fault(Fault::Late(Duration::from_millis(300)))),
        ("slow leaf-1 50us", fault(Fault::Slow(Duration::from_micros(50)))),
        ("drop leaf-1 30% 7", fault(Fault::Drop { percent: 30, seed: 7 })),
        ("drop leaf-1 30", fault(Fault::Drop { percent: 30, seed: 0 })),
        ("queue leaf-1 4", fault(Fault::Queue(4))),
        ("ignore leaf-1 portinfo", fault(Fault::Ignore(smp(0x15)))),
        ("ignore leaf-1 PortCounters", fault(Fault::Ignore(port_counters))),
        ("ignore leaf-1 0xff90", fault(Fault::Ignore(smp(0xff90)))),
        ("refuse leaf-1 LinearForwardingTable busy", fault(Fault::Refuse(smp(0x19), Status::BUSY))),
        ("refuse leaf-1 SwitchInfo 0x1c", fault(Fault::Refuse(smp(0x12), Status::BAD_FIELD))),
        ("forget leaf-1 P_KeyTable", fault(Fault::Forget(smp(0x16)))),
        ("babble leaf-1:3 129 10ms", fault(Fault::Babble { port: 3, trouble: LinkTrouble::Integrity, every: Duration::from_millis(10) })),
        ("guid leaf-1 leaf-0", fault(Fault::Guid(Guid(1)))),
        ("guid leaf-1 0xabc", fault(Fault::Guid(Guid(0xabc)))),
        ("rename leaf-1 \"new name\"", Event::Rename(leaf, "new name".to_owned())),
        ("mkey leaf-1 0xfeed", Event::MKey { node: leaf, key: 0xfeed, protect: 1 }),
        ("mkey leaf-1 0 3", Event::MKey { node: leaf, key: 0, protect: 3 }),
        ("pkey leaf-1:0 2 0x8001", Event::PKey { at: at(1, 0), index: 2, p_key: 0x8001 }),
        ("errors leaf-1:20 symbol 10", Event::Errors { at: at(1, 20), counter: ErrorCounter::Symbol, count: 10 }),
        ("groups leaf-1 8", Event::Groups { node: leaf, groups: 8 }),
        ("forget leaf-1 AdaptiveRoutingGroupTable", fault(Fault::Forget(smp(0xff21)))),
        ("seed 0x10", Event::Seed(16)),
    ];
    for (statement, event) in &expected {
        assert_eq!(events(statement), std::slice::from_ref(event), "{statement}");
    }
    for verb in VERBS {
        assert!(expected.iter().any(|(statement, _)| statement.split(' ').next() == Some(verb.name)), "{} is not tried", verb.name);
    }
    let all = (0..6).map(|node| Event::Fault(NodeIndex(node), Fault::Mute));
    assert_eq!(events("mute all"), all.collect::<Vec<_>>());
}

#[test]
fn what_lasts_for_a_time_is_undone() {
    let leaf = NodeIndex(1);
    let undone = [
        ("cut leaf-0:19", Event::Restore(at(0, 19).into())),
        ("loss all 10", Event::Restore(Place::Everywhere)),
        ("move leaf-0:19 leaf-1:4", Event::Move { from: at(1, 4), to: at(0, 19) }),
        ("swap leaf-0:19 leaf-1:4", Event::Swap(at(0, 19), at(1, 4))),
        ("split leaf-1", Event::Merge(vec![leaf])),
        ("remove leaf-1", Event::ReturnNode(leaf)),
        ("drop leaf-1 30 7", Event::Heal(leaf)),
        ("garbage leaf-1", Event::Heal(leaf)),
        ("rename leaf-1 new", Event::Rename(leaf, "leaf-1".to_owned())),
    ];
    for (statement, undo) in undone {
        let both = parse(&format!("2s {statement} for 500ms"));
        assert_eq!((both.len(), both[0].0, &both[1]), (2, millis(2000), &(millis(2500), undo)), "{statement}");
        assert_eq!(both[0].1, events(statement)[0]);
    }
}

#[test]
fn chance_comes_from_the_seed() {
    let text = |seed| format!("seed {seed}; 5s..60s 20x cut any link for 1s..5s; 1s..2s mute any switch; 7s remove any host");
    let once = parse(&text(1));
    assert_eq!(once, parse(&text(1)));
    assert_ne!(once, parse(&text(2)));
    assert_eq!(once[0], (Time::ZERO, Event::Seed(1)));
    assert_eq!(once.len(), 1 + 2 * 20 + 2);
    let mut times = Vec::new();
    for pair in once[1..41].chunks(2) {
        let [(from, Event::Cut(Place::Port(cut))), (to, Event::Restore(Place::Port(restored)))] = pair else { panic!("{pair:?}") };
        assert_eq!(cut, restored);
        assert!([at(0, 19), at(2, 1), at(1, 19), at(2, 2)].contains(cut));
        assert!((millis(5000)..=millis(60_000)).contains(from), "{from:?}");
        assert!((Duration::from_secs(1)..=Duration::from_secs(5)).contains(&to.since(*from)));
        times.push(*from);
    }
    times.sort();
    assert!(times[2] < millis(32_000) && times[17] > millis(32_000), "all over the range: {times:?}");
    assert!(matches!(once[41], (_, Event::Fault(NodeIndex(..5), Fault::Mute))));
    assert_eq!(once[42], (millis(7000), Event::RemoveNode(NodeIndex(5))));
}

#[test]
fn a_moved_cable_is_where_it_was_moved() {
    assert_eq!(parse("1s move leaf-0:19 leaf-0:3; 2s cut leaf-0:3; 3s move leaf-0:3 leaf-0:19").len(), 3);
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
    check("2s..1s cut leaf-0:19", 1, 1, &["a range"]);
    check("cut leaf-0:19", 1, 1, &["a time"]);
    check("1s cut leaf-0:19\n2s", 2, 3, &["an event is missing"]);
    check("1s ; 2s explode leaf-0", 1, 3, &["an event is missing"]);
    check("1s 0x cut leaf-0", 1, 4, &["how often"]);
    check("1s 1000000x cut leaf-0", 1, 4, &["10000x"]);
    check(&format!("1s cut leaf-0\n{}", ["1s 10000x mute all"; 4].join("; ")), 2, 61, &["more than 200000 events"]);
    check("1s explode leaf-0", 1, 4, &["\"explode\"", "restore"]);
    check("1s rebot leaf-0", 1, 4, &["\"rebot\"", "similar names: reboot"]);
    check("1s cut", 1, 7, &["the cable is missing", "NODE:PORT"]);
    check("1s cut leaf-0:x", 1, 8, &["NODE:PORT"]);
    check("1s cut leaf-0:300", 1, 8, &["NODE:PORT"]);
    check("1s cut leaf-0:21", 1, 8, &["ports 1 to 20"]);
    check("1s cut leaf-0:0", 1, 8, &["ports 1 to 20"]);
    check("1s cut leaf-0:4", 1, 8, &["no cable", "19"]);
    check("1s cut leaf-9", 1, 8, &["leaf-9", "similar names: leaf-0, leaf-1"]);
    check("1s cut any cable", 1, 12, &["expected link"]);
    check("1s mute any router", 1, 13, &["switch, host or node"]);
    check("1s move leaf-0:19 leaf-1:19", 1, 19, &["has a cable already", "swap"]);
    check("1s heal leaf-0; 2s cut leaf-O:19", 1, 24, &["leaf-O", "similar names: leaf-0, leaf-1"]);
    check("1s heal twin", 1, 9, &["several nodes", "0x0000000000000004"]);
    check("1s heal \"leaf-0", 1, 9, &["closing quote"]);
    check("1s heal leaf-0 leaf-1", 1, 16, &["the end of the event"]);
    check("1s heal leaf-0 for 2s", 1, 16, &["the end of the event"]);
    check("1s mute leaf-0 for", 1, 19, &["how long"]);
    check("1s mute leaf-0 for 2s more", 1, 23, &["the end of the event"]);
    check("1s late leaf-0", 1, 15, &["how late"]);
    check("1s drop leaf-0 101", 1, 16, &["0 to 100"]);
    check("1s garbage leaf-0 many", 1, 19, &["a seed"]);
    check("1s ignore leaf-0 PortInfos", 1, 18, &["PortInfos", "similar names: PortInfo"]);
    check("1s refuse leaf-0 PortInfo 0x8000", 1, 27, &["a status"]);
    check("1s errors leaf-0:1 symbols 1", 1, 20, &["the counter", "similar names: symbol"]);
    check("1s degrade leaf-0:19 3x", 1, 22, &["1x", "SDR"]);
    check("1s babble leaf-0:1 128 1s", 1, 20, &["129, 130, 131"]);
    check("1s mkey leaf-0 7 4", 1, 18, &["0 to 3"]);
    check(&format!("1s rename leaf-0 {}", "x".repeat(65)), 1, 18, &["64 bytes"]);
}

fn port() -> impl Strategy<Value = PortRef> {
    (0u32..5, 1u8..=20).prop_map(|(node, port)| at(node, port))
}

fn any_event() -> impl Strategy<Value = Event> {
    let node = || (0u32..6).prop_map(NodeIndex);
    let place = || {
        prop_oneof![
            Just(Place::Everywhere),
            node().prop_map(Place::Node),
            prop::sample::select(vec![at(0, 19), at(2, 2)]).prop_map(Place::Port)
        ]
    };
    let time = || (1u64..10_000_000).prop_map(Duration::from_micros);
    let subject = || {
        prop_oneof![
            Just(Subject { class: Class::PERF, attribute: AttributeId(0x1d) }),
            any::<u16>().prop_map(|id| Subject { class: Class::SUBN_LID, attribute: AttributeId(id) }),
        ]
    };
    let cable = prop_oneof![
        prop::sample::select(LinkWidth::ALL.to_vec()).prop_map(CableFault::Width),
        prop::sample::select(LinkSpeed::ALL.to_vec()).prop_map(CableFault::Speed),
        (0u8..=100).prop_map(CableFault::Loss),
        (0u8..=100).prop_map(CableFault::Corrupt),
        time().prop_map(CableFault::Delay),
        (0u8..=100).prop_map(CableFault::Reorder),
        (0u8..=100).prop_map(CableFault::Repeat),
    ];
    let fault = prop_oneof![
        Just(Fault::Mute),
        Just(Fault::Duplicate),
        any::<u64>().prop_map(|seed| Fault::Garbage { seed }),
        time().prop_map(Fault::Late),
        time().prop_map(Fault::Slow),
        (0u8..=100, any::<u64>()).prop_map(|(percent, seed)| Fault::Drop { percent, seed }),
        any::<u16>().prop_map(Fault::Queue),
        subject().prop_map(Fault::Ignore),
        (subject(), 0u16..0x8000).prop_map(|(subject, status)| Fault::Refuse(subject, Status(status))),
        subject().prop_map(Fault::Forget),
        any::<u64>().prop_map(|guid| Fault::Guid(Guid(guid))),
    ];
    let babble = (port(), prop::sample::select(vec![LinkTrouble::BufferOverrun, LinkTrouble::FlowControl]), time());
    prop_oneof![
        place().prop_map(Event::Cut),
        place().prop_map(Event::Restore),
        (place(), cable).prop_map(|(place, fault)| Event::Cable(place, fault)),
        (port(), port()).prop_map(|(one, other)| Event::Swap(one, other)),
        prop::collection::vec(node(), 1..4).prop_map(Event::Split),
        prop::collection::vec(node(), 1..4).prop_map(Event::Merge),
        node().prop_map(Event::RemoveNode),
        node().prop_map(Event::ReturnNode),
        (node(), time()).prop_map(|(node, time)| Event::Reboot(node, time)),
        (node(), fault).prop_map(|(node, fault)| Event::Fault(node, fault)),
        babble.prop_map(|(at, trouble, every)| Event::Fault(at.node, Fault::Babble { port: at.port, trouble, every })),
        node().prop_map(Event::Heal),
        (node(), "[a-zA-Z0-9 #;:é-]{0,30}").prop_map(|(node, name)| Event::Rename(node, name)),
        (node(), any::<u64>(), 0u8..4).prop_map(|(node, key, protect)| Event::MKey { node, key, protect }),
        (port(), any::<u16>(), any::<u16>()).prop_map(|(at, index, p_key)| Event::PKey { at, index, p_key }),
        (port(), any::<u32>()).prop_map(|(at, count)| Event::Errors { at, counter: ErrorCounter::Vl15, count }),
        (node(), 1..=0xfffu16).prop_map(|(node, groups)| Event::Groups { node, groups }),
        any::<u64>().prop_map(Event::Seed),
    ]
}

proptest! {
    #[test]
    fn the_statement_of_an_event_means_it(event in any_event()) {
        let statement = event.statement(&fabric());
        prop_assert_eq!(events(&statement), [event], "{}", statement);
    }

    #[test]
    fn any_script_is_survived(text in "([0-9a-z.:;#\" \n]|2s |1s..2s |10x |cut |for |any |link|leaf-0:19|all |late |\\PC){0,40}") {
        if let Err(error) = parse_script(&text, &fabric()) {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }
}
