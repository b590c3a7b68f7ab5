//! What devices of different makes do: sizes, training of links, switches' port 0, SL-to-VL tables in the short form.

use crate::support::*;
use heddle_emulator::Emulator;
use heddle_mad::transport::Address;
use heddle_mad::wire::*;
use std::time::Duration;

/// A: ConnectX-7, S: Quantum-2, T: SwitchX, B: ConnectX-3.
fn devices() -> Emulator {
    Emulator::new(&fabric_of([0x1021, 0xd2f2, 0xc738, 0x1003], 0x2c9), at(A, 1)).unwrap()
}

fn info(emulator: &Emulator, node: heddle_fabric::NodeIndex, port: u8) -> PortInfo {
    *emulator.world().port_info(at(node, port)).unwrap()
}

#[test]
fn links_come_up_at_the_best_that_both_ends_can_do() {
    let emulator = devices();
    let active = |node, port| info(&emulator, node, port).active_speed().unwrap();
    assert_eq!((active(A, 1), active(S, 3)), (LinkSpeed::Ndr, LinkSpeed::Ndr));
    assert_eq!((active(S, 5), active(T, 7)), (LinkSpeed::Fdr, LinkSpeed::Fdr));
    assert_eq!((active(T, 2), active(B, 1)), (LinkSpeed::Fdr, LinkSpeed::Fdr));
    assert_eq!(info(&emulator, A, 1).active_width(), Some(LinkWidth::X4));
    // As `smpquery portinfo` shows it of real ports: QDR in the first field beside an extended speed.
    assert_eq!((info(&emulator, A, 1).link_speed_active(), info(&emulator, A, 1).link_speed_ext_active()), (4, 8));
}

/// Takes the link of S 5 down and lets it train.
fn retrain(emulator: &mut Emulator) -> PortInfo {
    assert_eq!(change_port(emulator, TO_S, 5, |info| info.set_physical_state(PhysicalState::Polling)).status(), Status::OK);
    receive_all(emulator, Duration::from_secs(1));
    assert_eq!(info(emulator, S, 5).state(), info(emulator, T, 7).state());
    info(emulator, S, 5)
}

#[test]
fn what_is_enabled_takes_effect_when_the_link_is_trained() {
    let mut emulator = devices();
    let changed = change_port(&mut emulator, TO_S, 5, |info| {
        info.set_link_width_enabled(1);
        info.set_link_speed_ext_enabled(30);
        info.set_link_speed_enabled(3);
    });
    assert_eq!(changed.status(), Status::OK);
    assert_eq!(info(&emulator, S, 5).active_speed(), Some(LinkSpeed::Fdr), "not before");
    let trained = retrain(&mut emulator);
    // FDR10 is enabled still, at both ends, and is a speed of its own.
    let extended: ExtendedPortInfo = get::<ExtendedPortInfo>(&mut emulator, TO_S, 5).unwrap().attribute();
    assert_eq!((trained.active_width(), extended.active_speed(&trained)), (Some(LinkWidth::X1), Some(LinkSpeed::Fdr10)));

    let mut off = extended;
    off.set_link_speed_enabled(0);
    set(&mut emulator, TO_S, 5, &off);
    let unchanged: ExtendedPortInfo = get::<ExtendedPortInfo>(&mut emulator, TO_S, 5).unwrap().attribute();
    assert_eq!(unchanged, extended, "StateChangeEnable is 0");
    off.set_state_change_enable(1);
    assert_eq!(set(&mut emulator, TO_S, 5, &off).attribute::<ExtendedPortInfo>().link_speed_enabled(), 0);
    let trained = retrain(&mut emulator);
    let extended: ExtendedPortInfo = get::<ExtendedPortInfo>(&mut emulator, TO_S, 5).unwrap().attribute();
    assert_eq!((trained.state(), extended.active_speed(&trained)), (Some(PortState::Init), Some(LinkSpeed::Ddr)));
}

#[test]
fn ends_without_a_common_speed_stay_down() {
    let mut emulator = devices();
    change_port(&mut emulator, TO_S, 5, |info| {
        info.set_link_speed_ext_enabled(0b1100); // HDR and NDR, which the other end does not have
        info.set_link_speed_enabled(2);
    });
    let mut off = ExtendedPortInfo::default();
    off.set_state_change_enable(1);
    set(&mut emulator, TO_S, 5, &off);
    // By the second cable: the other end has all but DDR.
    let by_6 = &[1, 6];
    change_port(&mut emulator, by_6, 7, |info| info.set_link_speed_enabled(5));
    let down = retrain(&mut emulator);
    assert_eq!((down.state(), down.physical_state()), (Some(PortState::Down), Some(PhysicalState::Polling)));
    // Enabling DDR there and asking for training there brings the link up.
    change_port(&mut emulator, by_6, 7, |info| {
        info.set_link_speed_enabled(0xf);
        info.set_physical_state(PhysicalState::Polling);
    });
    receive_all(&mut emulator, Duration::from_secs(1));
    let up = info(&emulator, S, 5);
    assert_eq!((up.state(), up.active_speed()), (Some(PortState::Init), Some(LinkSpeed::Ddr)));
}

#[test]
fn a_link_asleep_at_both_ends_wakes_when_one_polls() {
    let mut emulator = devices();
    let by_6 = &[1, 6];
    change_port(&mut emulator, by_6, 7, |info| info.set_link_down_default_state(PhysicalState::Sleep as u8));
    change_port(&mut emulator, TO_S, 5, |info| info.set_physical_state(PhysicalState::Sleep));
    receive_all(&mut emulator, Duration::from_secs(1));
    let down = info(&emulator, S, 5);
    assert_eq!((down.state(), down.physical_state()), (Some(PortState::Down), Some(PhysicalState::Sleep)));
    change_port(&mut emulator, by_6, 7, |info| info.set_physical_state(PhysicalState::Polling));
    receive_all(&mut emulator, Duration::from_secs(1));
    assert_eq!(info(&emulator, S, 5).state(), Some(PortState::Init));
}

#[test]
fn the_answer_to_a_set_that_takes_the_link_down_says_so() {
    let mut emulator = devices();
    let answer = change_port(&mut emulator, TO_S, 5, |info| info.set_physical_state(PhysicalState::Disabled));
    let told: PortInfo = answer.attribute();
    assert_eq!((told.state(), told.physical_state()), (Some(PortState::Down), Some(PhysicalState::Disabled)));
    assert_eq!(info(&emulator, T, 7).physical_state(), Some(PhysicalState::Polling), "the other end looks for its partner");
    // DOWN does not enable a port that is disabled (IBA 14.2.5.6: only its physical state does).
    change_port(&mut emulator, TO_S, 5, |info| info.set_state(PortState::Down));
    receive_all(&mut emulator, Duration::from_secs(1));
    assert_eq!(info(&emulator, S, 5).physical_state(), Some(PhysicalState::Disabled));
}

/// IBA 14.2.5.4: PortStateChange is for what the link does by itself, not for what a Set does at its own port.
#[test]
fn a_set_is_no_port_state_change_where_it_is_made() {
    let mut emulator = devices();
    change_port(&mut emulator, TO_S, 5, |info| info.set_physical_state(PhysicalState::Polling));
    let changed = |emulator: &Emulator| [S, T].map(|node| emulator.world().switch_info(node).unwrap().port_state_change());
    assert_eq!(changed(&emulator), [false, true]);
    receive_all(&mut emulator, Duration::from_secs(1));
    assert_eq!(changed(&emulator), [true, true], "the link came up by itself");
}

#[test]
fn tables_have_the_sizes_of_the_devices() {
    let mut emulator = devices();
    assert_eq!(emulator.world().model(B), Some("ConnectX-3, ConnectX-3 Pro"));
    let node: NodeInfo = get::<NodeInfo>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!((node.device_id(), node.partition_cap()), (0x1003, 128));
    let status = |emulator: &mut Emulator, ports: &[u8], attribute, modifier| {
        send(emulator, Address::Directed, Mad::directed(&path(ports), Method::GET, attribute, modifier));
        receive(emulator).unwrap().mad.status()
    };
    let (there, beyond) = (Status::OK, Status(0x1c));
    // ConnectX-3 has 128 GUIDs, which are 16 blocks, and 128 P_Keys, which are 4; mlx4 calls the former NUM_ALIAS_GUID_REC_IN_PORT.
    assert_eq!(status(&mut emulator, TO_B, GuidInfo::ID, 15), there);
    assert_eq!(status(&mut emulator, TO_B, GuidInfo::ID, 16), beyond);
    assert_eq!(status(&mut emulator, TO_B, PKeyTable::ID, 3), there);
    assert_eq!(status(&mut emulator, TO_B, PKeyTable::ID, 4), beyond);
    let switch: SwitchInfo = get::<SwitchInfo>(&mut emulator, TO_T, 0).unwrap().attribute();
    assert_eq!((switch.linear_fdb_cap(), switch.partition_enforcement_cap()), (49152, 32));
    assert_eq!(status(&mut emulator, TO_T, PKeyTable::ID, PKeyTable::modifier(2, 0)), there);
    assert_eq!(status(&mut emulator, TO_T, PKeyTable::ID, PKeyTable::modifier(2, 1)), beyond);
    let last = u32::from(switch.multicast_fdb_cap() - 1) / 32;
    assert_eq!(status(&mut emulator, TO_T, MulticastForwardingTable::ID, last), there);
    assert_eq!(status(&mut emulator, TO_T, MulticastForwardingTable::ID, last + 1), beyond);
    for part in [VlArbitrationPart::LowSecond, VlArbitrationPart::HighSecond] {
        assert_eq!(status(&mut emulator, TO_T, VlArbitration::ID, VlArbitration::modifier(part, 2)), beyond, "16 entries are one block");
    }
}

#[test]
fn attributes_without_a_modifier_refuse_one_and_unknown_ones_are_not_supported() {
    let mut emulator = devices();
    let mut status = |ports: &[u8], attribute, modifier| {
        send(&mut emulator, Address::Directed, Mad::directed(&path(ports), Method::GET, attribute, modifier));
        receive(&mut emulator).unwrap().mad.status()
    };
    for attribute in [NodeInfo::ID, NodeDescription::ID, SwitchInfo::ID] {
        assert_eq!(status(TO_S, attribute, 1), Status(0x1c), "{attribute:?}");
    }
    // Notice, VendorDiag, LedInfo, PortInfoExtended, SwitchPortStateTable: no mask claims them.
    for id in [0x02, 0x1a, 0x30, 0x31, 0x33, 0x34] {
        assert_eq!(status(TO_S, AttributeId(id), 0), Status(0x0c), "{id:#x}");
    }
}

/// Where the mask says that a port keeps notices, a Get brings one; that there is none is a notice of its own kind.
#[test]
fn there_is_no_notice() {
    let mut emulator = emulator();
    let notice: Notice = get::<Notice>(&mut emulator, TO_S, 0).unwrap().attribute();
    assert_eq!(notice.kind(), Some(NoticeType::Empty));
}

/// 40 ports are three masks of 16: ports 0 to 15, 16 to 31, 32 to 47.
#[test]
fn multicast_masks_have_as_many_positions_as_the_ports_need() {
    use heddle_fabric::{FabricBuilder, Guid, NodeKind, NodeSpec};
    let mut builder = FabricBuilder::new();
    builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(1), 40, "switch")).unwrap();
    let mut emulator = Emulator::new(&builder.build(), at(heddle_fabric::NodeIndex(0), 0)).unwrap();
    for position in 0..3u8 {
        let masks = MulticastForwardingTable::from_bytes([position + 1; 64]);
        let modifier = MulticastForwardingTable::modifier(7, position);
        assert_eq!(set(&mut emulator, &[], modifier, &masks).status(), Status::OK);
    }
    for position in 0..3u8 {
        let modifier = MulticastForwardingTable::modifier(7, position);
        assert_eq!(get::<MulticastForwardingTable>(&mut emulator, &[], modifier).unwrap().smp_data(), [position + 1; 64]);
    }
    let beyond = get::<MulticastForwardingTable>(&mut emulator, &[], MulticastForwardingTable::modifier(7, 3)).unwrap();
    assert_eq!(beyond.status(), Status(0x1c));
}

#[test]
fn only_an_enhanced_port_0_has_an_lmc() {
    let lmc = |emulator: &mut Emulator| {
        let change = |info: &mut PortInfo| {
            info.set_lid(8);
            info.set_lmc(2);
        };
        assert_eq!(change_port(emulator, TO_S, 0, change).status(), Status::OK);
        (emulator.world().switch_info(S).unwrap().enhanced_port0(), info(emulator, S, 0).lmc())
    };
    assert_eq!(lmc(&mut devices()), (true, 2));
    assert_eq!(lmc(&mut emulator()), (false, 0));
}

#[test]
fn port_info_keeps_the_rest_of_what_is_writable() {
    let mut emulator = devices();
    change_port(&mut emulator, TO_S, 5, |info| {
        info.set_partition_enforcement_inbound(true);
        info.set_partition_enforcement_outbound(true);
        info.set_filter_raw_inbound(true);
        info.set_filter_raw_outbound(true);
        info.set_local_phy_errors(5);
        info.set_overrun_errors(6);
        info.set_lid(77);
        info.set_m_key(0x55);
    });
    let port = info(&emulator, S, 5);
    assert!(port.partition_enforcement_inbound() && port.partition_enforcement_outbound());
    assert!(port.filter_raw_inbound() && port.filter_raw_outbound());
    assert_eq!((port.local_phy_errors(), port.overrun_errors()), (5, 6));
    assert_eq!((port.lid(), port.m_key()), (0, 0), "addresses and keys are port 0's");

    let answer = change_port(&mut emulator, TO_B, 1, |info| {
        info.set_init_type(3);
        info.set_partition_enforcement_inbound(true);
        info.set_client_reregister(true);
        info.set_capability_mask_2(0xffff);
        info.set_max_credit_hint(9);
        info.set_diag_code(9);
        info.set_init_type_reply(9);
        info.set_resp_time_value(1);
        info.set_link_round_trip_latency(9);
    });
    assert!(answer.attribute::<PortInfo>().client_reregister(), "o14-12.2.1");
    assert_eq!(emulator.world().client_reregistrations(at(B, 1)), Some(1));
    let port = info(&emulator, B, 1);
    assert_eq!((port.init_type(), port.client_reregister(), port.partition_enforcement_inbound()), (3, false, false));
    let read_only = (port.capability_mask_2(), port.max_credit_hint(), port.diag_code(), port.init_type_reply(), port.resp_time_value());
    assert_eq!(read_only, (0, 0, 0, 0, 16));
    assert_eq!(port.link_round_trip_latency(), 0);
}

/// No bit of a Set reaches what is read-only or reserved.
#[test]
fn a_set_of_ones_changes_nothing_that_is_reserved() {
    let mut emulator = devices();
    let before = info(&emulator, T, 3);
    let mut ones = PortInfo::from_bytes([0xff; 64]);
    // What must be valid.
    ones.set_neighbor_mtu(4);
    ones.set_operational_vls(2);
    ones.set_port_state(0);
    ones.set_port_physical_state(0);
    ones.set_link_down_default_state(1);
    assert_eq!(set(&mut emulator, TO_T, 3, &ones).status(), Status::OK);
    let after = info(&emulator, T, 3);
    let mut expected = before;
    expected.set_neighbor_mtu(4);
    expected.set_operational_vls(2);
    expected.set_link_down_default_state(1);
    expected.set_vl_high_limit(0xff);
    expected.set_vl_stall_count(7);
    expected.set_hoq_life(31);
    expected.set_local_phy_errors(15);
    expected.set_overrun_errors(15);
    expected.set_partition_enforcement_inbound(true);
    expected.set_partition_enforcement_outbound(true);
    expected.set_filter_raw_inbound(true);
    expected.set_filter_raw_outbound(true);
    assert_eq!(after, expected, "the widths and speeds were all enabled before");

    let before = *emulator.world().switch_info(T).unwrap();
    let mut ones = SwitchInfo::from_bytes([0xff; 64]);
    ones.set_linear_fdb_top(100);
    ones.set_multicast_fdb_top(0xc01f);
    assert_eq!(set(&mut emulator, TO_T, 0, &ones).status(), Status::OK);
    let mut expected = before;
    expected.set_linear_fdb_top(100);
    expected.set_multicast_fdb_top(0xc01f);
    expected.set_default_port(0xff);
    expected.set_life_time_value(31);
    assert_eq!(*emulator.world().switch_info(T).unwrap(), expected);
}

#[test]
fn the_multicast_top_is_a_multicast_lid_of_the_table_or_one_of_two_words() {
    let mut emulator = devices();
    let cap = emulator.world().switch_info(T).unwrap().multicast_fdb_cap();
    let mut write = |top| {
        let mut info = *emulator.world().switch_info(T).unwrap();
        info.set_multicast_fdb_top(top);
        set(&mut emulator, TO_T, 0, &info).status()
    };
    for top in [0, 0xbfff, 0xc000, 0xc000 + cap - 1] {
        assert_eq!(write(top), Status::OK, "{top:#x}");
    }
    for top in [1, 0xbffe, 0xc000 + cap] {
        assert_eq!(write(top), Status(0x1c), "{top:#x}");
    }
}

/// The modifier as OpenSM writes and reads it (osm_qos.c, osm_slvl_map_rcv.c): bit 17 for all input ports, bit 16 for all output ports.
#[test]
fn sl_to_vl_tables_can_be_written_for_many_ports_at_once() {
    let mut emulator = devices();
    let row = |vl| {
        let mut row = SlToVlMapping::default();
        (0..16).for_each(|sl| row.set_vl(sl, vl));
        row
    };
    let read = |emulator: &mut Emulator, input, output| {
        get::<SlToVlMapping>(emulator, TO_S, SlToVlMapping::modifier(input, output)).unwrap().attribute::<SlToVlMapping>().vl(3)
    };
    set(&mut emulator, TO_S, SlToVlMapping::modifier(2, 4), &row(1));
    assert_eq!((read(&mut emulator, 2, 4), read(&mut emulator, 4, 2), read(&mut emulator, 0, 4)), (1, 3, 3));
    set(&mut emulator, TO_S, 0x20000 | 5, &row(2));
    assert_eq!((read(&mut emulator, 0, 5), read(&mut emulator, 8, 5), read(&mut emulator, 2, 4)), (2, 2, 1));
    set(&mut emulator, TO_S, 0x10000 | 6 << 8, &row(4));
    assert_eq!((read(&mut emulator, 6, 5), read(&mut emulator, 6, 0), read(&mut emulator, 5, 6)), (4, 4, 3));
    set(&mut emulator, TO_S, 0x30000, &row(5));
    assert_eq!((read(&mut emulator, 6, 5), read(&mut emulator, 2, 4), read(&mut emulator, 5, 6)), (5, 5, 5));
    set(&mut emulator, TO_S, 0x20000 | 7, &row(6));
    assert_eq!((read(&mut emulator, 1, 7), read(&mut emulator, 1, 6)), (6, 5));

    assert_eq!(get::<SlToVlMapping>(&mut emulator, TO_S, 0x20000 | 7).unwrap().status(), Status(0x1c), "which row?");
    assert_eq!(set(&mut emulator, TO_S, 0x40000, &row(5)).status(), Status(0x1c));
    let mut plain = self::emulator();
    assert_eq!(set(&mut plain, TO_S, 0x30000, &row(5)).status(), Status(0x1c), "SwitchInfo does not say that it can");
}
