//! What the management agents answer.

use crate::support::*;
use heddle_emulator::Emulator;
use heddle_mad::transport::Address;
use heddle_mad::wire::*;

const STATES: [PortState; 4] = [PortState::Down, PortState::Init, PortState::Armed, PortState::Active];

/// An emulator whose port S 5 is in `state`.
fn with_port_in(state: PortState) -> Emulator {
    let mut emulator = emulator();
    match state {
        PortState::Down => emulator.world_mut().cut(at(S, 5)),
        PortState::Init => {}
        PortState::Armed => assert_eq!(change_port(&mut emulator, TO_S, 5, |info| info.set_state(PortState::Armed)).status(), Status::OK),
        PortState::Active => activate(&mut emulator, TO_S, 5),
    }
    assert_eq!(emulator.world().port_info(at(S, 5)).unwrap().state(), Some(state));
    emulator
}

/// The whole table of the states that a Set may lead to (IBA 7.2.7, 14.2.5.6).
#[test]
fn port_states_go_up_one_step_at_a_time() {
    use PortState::{Active, Armed, Down, Init};
    let result = |from, to| match (from, to) {
        (Init, Armed) => Some(Armed),
        (Armed, Active) => Some(Active),
        (_, Down) => Some(Down),
        _ => None,
    };
    for from in STATES {
        for to in STATES {
            let mut emulator = with_port_in(from);
            let status = change_port(&mut emulator, TO_S, 5, |info| info.set_state(to)).status();
            let expected = result(from, to).map(|state| if state == Down && from != Down { Init } else { state });
            assert_eq!(status, if expected.is_some() { Status::OK } else { Status(0x1c) }, "{from:?} to {to:?}");
            assert_eq!(emulator.world().port_info(at(S, 5)).unwrap().state(), Some(expected.unwrap_or(from)), "{from:?} to {to:?}");
        }
        let mut emulator = with_port_in(from);
        assert_eq!(change_port(&mut emulator, TO_S, 5, |info| info.set_hoq_life(9)).status(), Status::OK);
        let info = emulator.world().port_info(at(S, 5)).unwrap();
        assert_eq!((info.state(), info.hoq_life()), (Some(from), 9), "no change of state");
    }
}

/// OpenSM does so to ports whose LID changed, and goes on through them at once (osm_lid_mgr.c, with IBA 7.2.7).
#[test]
fn a_link_that_was_set_down_begins_anew_at_once() {
    let mut emulator = with_port_in(PortState::Active);
    let answer = change_port(&mut emulator, TO_S, 5, |info| info.set_state(PortState::Down));
    let ends = [at(S, 5), at(T, 7)].map(|end| *emulator.world().port_info(end).unwrap());
    assert_eq!(ends.map(|info| info.state()), [Some(PortState::Init); 2]);
    assert_eq!(ends.map(|info| info.physical_state()), [Some(PhysicalState::LinkUp); 2]);
    assert_eq!(answer.attribute::<PortInfo>().state(), Some(PortState::Init));
}

/// OpenSM does so to the ports of hosts in its first sweep: at the other ends, in INIT all the time, no state changes (IBA 14.2.5.4).
#[test]
fn a_link_that_begins_anew_before_it_began_is_no_change_for_its_other_end() {
    let noticed = |emulator: &mut Emulator| {
        let before = *emulator.world().switch_info(T).unwrap();
        assert!(!before.port_state_change());
        change_port(emulator, TO_B, 1, |info| info.set_state(PortState::Down));
        emulator.world().switch_info(T).unwrap().port_state_change()
    };
    assert!(!noticed(&mut emulator()));
    let mut managed = emulator();
    activate(&mut managed, TO_T, 2);
    assert!(noticed(&mut managed));
}

#[test]
fn a_disabled_link_stays_down_until_it_is_enabled() {
    let mut emulator = emulator();
    let switch = |emulator: &mut Emulator, physical| {
        assert_eq!(change_port(emulator, TO_S, 5, |info| info.set_physical_state(physical)).status(), Status::OK);
        assert_eq!(receive(emulator), None);
        let info = emulator.world().port_info(at(S, 5)).unwrap();
        (info.state().unwrap(), info.physical_state().unwrap())
    };
    assert_eq!(switch(&mut emulator, PhysicalState::Disabled), (PortState::Down, PhysicalState::Disabled));
    emulator.world_mut().cut(at(S, 5));
    emulator.world_mut().restore(at(S, 5));
    assert_eq!(emulator.world().port_info(at(S, 5)).unwrap().state(), Some(PortState::Down));
    assert_eq!(switch(&mut emulator, PhysicalState::Polling), (PortState::Init, PhysicalState::LinkUp));
}

#[test]
fn cold_ports_are_in_init_where_there_is_a_cable() {
    let emulator = emulator();
    let state = |end| emulator.world().port_info(end).unwrap().state().unwrap();
    assert_eq!(state(at(S, 0)), PortState::Active);
    assert_eq!(state(at(S, 5)), PortState::Init);
    assert_eq!(state(at(S, 1)), PortState::Down);
    let info = emulator.world().port_info(at(A, 1)).unwrap();
    assert_eq!((info.lid(), info.active_speed(), info.active_width()), (0, Some(LinkSpeed::Hdr), Some(LinkWidth::X4)));
    assert_eq!((info.max_mtu(), data_vls(info.vl_cap()), data_vls(info.operational_vls())), (Some(Mtu::B4096), Some(8), Some(8)));
}

#[test]
fn port_info_keeps_what_a_manager_writes_and_nothing_else() {
    let mut emulator = emulator();
    let answer = change_port(&mut emulator, TO_B, 1, |info| {
        info.set_lid(8);
        info.set_lmc(2);
        info.set_master_sm_lid(1);
        info.set_master_sm_sl(3);
        info.set_gid_prefix(0xfe80_0000_0000_0001);
        info.set_m_key(0x55);
        info.set_m_key_protect_bits(1);
        info.set_m_key_lease_period(60);
        info.set_neighbor_mtu(5);
        info.set_operational_vls(3);
        info.set_vl_high_limit(7);
        info.set_vl_stall_count(2);
        info.set_hoq_life(16);
        info.set_subnet_timeout(18);
        info.set_client_reregister(true);
        info.set_link_width_enabled(0xff);
        info.set_link_speed_ext_enabled(31);
        // Read-only.
        info.set_mtu_cap(1);
        info.set_vl_cap(1);
        info.set_capability_mask(0);
        info.set_link_width_supported(0xf);
        info.set_guid_cap(200);
        info.set_local_port_num(77);
    });
    assert_eq!(answer.status(), Status::OK);
    let info = *emulator.world().port_info(at(B, 1)).unwrap();
    assert_eq!((info.lid(), info.lmc(), info.master_sm_lid(), info.master_sm_sl()), (8, 2, 1, 3));
    assert_eq!((info.gid_prefix(), info.m_key(), info.m_key_protect_bits()), (0xfe80_0000_0000_0001, 0x55, 1));
    assert_eq!((info.m_key_lease_period(), info.neighbor_mtu(), info.operational_vls()), (60, 5, 3));
    assert_eq!((info.vl_high_limit(), info.vl_stall_count(), info.hoq_life(), info.subnet_timeout()), (7, 2, 16, 18));
    assert!(!info.client_reregister(), "done at once");
    assert_eq!((info.mtu_cap(), info.vl_cap(), info.guid_cap()), (5, 4, 8));
    assert_eq!((info.link_width_enabled(), info.link_width_supported(), info.link_speed_ext_enabled()), (3, 3, 7));
    assert_ne!(info.capability_mask(), 0);
    assert_eq!(answer.attribute::<PortInfo>().local_port_num(), 1);
}

#[test]
fn fields_that_cannot_be_are_refused_and_nothing_is_written() {
    let refused = |change: fn(&mut PortInfo)| {
        let mut emulator = emulator();
        let before = *emulator.world().port_info(at(B, 1)).unwrap();
        let answer = change_port(&mut emulator, TO_B, 1, |info| {
            info.set_hoq_life(3);
            change(info);
        });
        assert_eq!(answer.status(), Status(0x1c));
        assert_eq!(emulator.world().port_info(at(B, 1)), Some(&before));
    };
    refused(|info| info.set_lid(0xc000));
    refused(|info| info.set_lid(0xffff));
    refused(|info| info.set_master_sm_lid(0xc000));
    refused(|info| {
        info.set_lid(9);
        info.set_lmc(1);
    });
    refused(|info| info.set_neighbor_mtu(0));
    refused(|info| info.set_operational_vls(5));
    refused(|info| info.set_link_width_enabled(8));
    refused(|info| info.set_link_speed_ext_enabled(8));
    refused(|info| info.set_port_physical_state(5));
    refused(|info| info.set_port_state(9));
}

#[test]
fn an_m_key_protects() {
    let mut emulator = emulator();
    let protect = |bits| {
        move |info: &mut PortInfo| {
            info.set_m_key(0x77);
            info.set_m_key_protect_bits(bits);
        }
    };
    change_port(&mut emulator, TO_B, 1, protect(1));
    // IBA 14.2.4.1: at level 1 others can read all but the key; no answer to a Set without it.
    assert_eq!(get::<PortInfo>(&mut emulator, TO_B, 1).unwrap().attribute::<PortInfo>().m_key(), 0);
    let mut mad = Mad::directed(&path(TO_B), Method::SET, PortInfo::ID, 1);
    mad.set_smp_data(emulator.world().port_info(at(B, 1)).unwrap().bytes());
    send(&mut emulator, Address::Directed, mad);
    assert_eq!(receive(&mut emulator), None);
    assert_eq!(emulator.world().port_info(at(B, 1)).unwrap().m_key_violations(), 1);
    // With the key, raise the level: then nobody reads anything without it.
    let mut info = *emulator.world().port_info(at(B, 1)).unwrap();
    info.set_port_state(0);
    info.set_port_physical_state(0);
    info.set_m_key_protect_bits(2);
    mad.set_smp_data(info.bytes());
    mad.set_m_key(0x77);
    send(&mut emulator, Address::Directed, mad);
    assert_eq!(receive(&mut emulator).unwrap().mad.status(), Status::OK);
    assert_eq!(get::<NodeInfo>(&mut emulator, TO_B, 0), None);
}

#[test]
fn errors_have_the_status_of_the_specification() {
    let mut emulator = emulator();
    let mut status = |ports: &[u8], method, attribute, modifier| {
        send(&mut emulator, Address::Directed, Mad::directed(&path(ports), method, attribute, modifier));
        let answer = receive(&mut emulator).unwrap().mad;
        assert_eq!(answer.method(), Method::GET_RESP);
        answer.status()
    };
    // IBA 13.4.7: 0x08 method, 0x0c method and attribute, 0x1c field or modifier.
    assert_eq!(status(TO_S, Method(0x33), NodeInfo::ID, 0), Status(0x08));
    assert_eq!(status(TO_S, Method::GET, AttributeId(0x7777), 0), Status(0x0c));
    assert_eq!(status(TO_S, Method::SET, NodeInfo::ID, 0), Status(0x0c));
    assert_eq!(status(TO_S, Method::GET, SmInfo::ID, 0), Status(0x0c), "no manager runs there");
    assert_eq!(status(TO_B, Method::GET, SwitchInfo::ID, 0), Status(0x0c), "a host is no switch");
    assert_eq!(status(TO_B, Method::GET, LinearForwardingTable::ID, 0), Status(0x0c));
    assert_eq!(status(TO_S, Method::GET, PortInfo::ID, 9), Status(0x1c));
    assert_eq!(status(TO_B, Method::GET, PortInfo::ID, 3), Status(0x1c));
    assert_eq!(status(TO_S, Method::GET, PortInfo::ID, 0x8000_0005), Status(0), "bit 31 is the manager's");
    assert_eq!(status(TO_S, Method::GET, LinearForwardingTable::ID, 767), Status(0));
    assert_eq!(status(TO_S, Method::SET, LinearForwardingTable::ID, 768), Status(0x1c), "beyond LinearFDBCap");
    assert_eq!(status(TO_S, Method::GET, PKeyTable::ID, PKeyTable::modifier(8, 3)), Status(0));
    assert_eq!(status(TO_S, Method::GET, PKeyTable::ID, PKeyTable::modifier(8, 4)), Status(0x1c));
    assert_eq!(status(TO_S, Method::GET, SlToVlMapping::ID, SlToVlMapping::modifier(0, 8)), Status(0));
    assert_eq!(status(TO_S, Method::GET, SlToVlMapping::ID, SlToVlMapping::modifier(1, 9)), Status(0x1c));
    assert_eq!(status(TO_S, Method::GET, VlArbitration::ID, VlArbitration::modifier(VlArbitrationPart::HighFirst, 8)), Status(0));
    assert_eq!(status(TO_S, Method::GET, VlArbitration::ID, VlArbitration::modifier(VlArbitrationPart::HighSecond, 8)), Status(0x1c));
    assert_eq!(status(TO_S, Method::GET, MulticastForwardingTable::ID, MulticastForwardingTable::modifier(255, 0)), Status(0));
    assert_eq!(status(TO_S, Method::GET, MulticastForwardingTable::ID, MulticastForwardingTable::modifier(255, 1)), Status(0x1c));
    assert_eq!(status(TO_S, Method::GET, ExtendedPortInfo::ID, 1), Status(0x0c), "another vendor's");
}

#[test]
fn tables_keep_what_is_written() {
    let mut emulator = emulator();
    let data: [u8; 64] = std::array::from_fn(|i| i as u8 + 1);
    let mut keeps = |ports: &[u8], attribute: AttributeId, modifier: u32, bytes: std::ops::Range<usize>| {
        let mut mad = Mad::directed(&path(ports), Method::SET, attribute, modifier);
        mad.set_smp_data(&data);
        send(&mut emulator, Address::Directed, mad);
        assert_eq!(receive(&mut emulator).unwrap().mad.status(), Status::OK, "{attribute:?}");
        send(&mut emulator, Address::Directed, Mad::directed(&path(ports), Method::GET, attribute, modifier));
        let answer = receive(&mut emulator).unwrap().mad;
        assert_eq!(answer.smp_data()[bytes.clone()], data[bytes], "{attribute:?}");
    };
    keeps(TO_S, LinearForwardingTable::ID, 700, 0..64);
    keeps(TO_S, MulticastForwardingTable::ID, MulticastForwardingTable::modifier(3, 0), 0..64);
    keeps(TO_S, PKeyTable::ID, PKeyTable::modifier(5, 1), 0..64);
    keeps(TO_B, PKeyTable::ID, 0, 0..64);
    keeps(TO_S, SlToVlMapping::ID, SlToVlMapping::modifier(3, 5), 0..8);
    keeps(TO_B, SlToVlMapping::ID, 0, 0..8);
    keeps(TO_S, VlArbitration::ID, VlArbitration::modifier(VlArbitrationPart::LowFirst, 5), 0..16); // as many entries as there are
    keeps(TO_B, GuidInfo::ID, 0, 8..64);
    let guids: GuidInfo = get::<GuidInfo>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!(guids.guid(0), 0xb1, "the hardware's own stays");
    assert_eq!(emulator.world().lft(S)[700 * 64..], data);
}

#[test]
fn what_nobody_wrote_has_the_values_of_a_reset() {
    let mut emulator = emulator();
    assert_eq!(get::<LinearForwardingTable>(&mut emulator, TO_S, 0).unwrap().smp_data(), [0xff; 64]);
    let keys: PKeyTable = get::<PKeyTable>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!((keys.p_key(0), keys.p_key(1)), (0xffff, 0));
    let vls: SlToVlMapping = get::<SlToVlMapping>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!([0, 1, 7, 8, 15].map(|sl| vls.vl(sl)), [0, 1, 7, 0, 7]);
    // As ibsim has it: VL 0 high, the others low.
    let mut weights = |part| {
        let table: VlArbitration = get::<VlArbitration>(&mut emulator, TO_S, VlArbitration::modifier(part, 5)).unwrap().attribute();
        assert_eq!(table.vls()[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        table.weights()
    };
    assert_eq!(weights(VlArbitrationPart::HighFirst)[..9], [4, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(weights(VlArbitrationPart::LowFirst)[..9], [0, 4, 4, 4, 4, 4, 4, 4, 0]);
    let description: NodeDescription = get::<NodeDescription>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!(description.to_string(), "B");
}

#[test]
fn switch_info_clears_the_change_bit_when_told() {
    let mut emulator = emulator();
    let info: SwitchInfo = get::<SwitchInfo>(&mut emulator, TO_S, 0).unwrap().attribute();
    assert_eq!((info.linear_fdb_cap(), info.linear_fdb_top(), info.port_state_change()), (0xc000, 0, false));
    emulator.world_mut().cut(at(S, 6));
    let mut info: SwitchInfo = get::<SwitchInfo>(&mut emulator, TO_S, 0).unwrap().attribute();
    assert!(info.port_state_change());
    info.set_port_state_change(false);
    info.set_life_time_value(18);
    info.set_linear_fdb_cap(7);
    set(&mut emulator, TO_S, 0, &info);
    let now = emulator.world().switch_info(S).unwrap();
    assert_eq!((now.port_state_change(), now.life_time_value(), now.linear_fdb_cap()), (true, 18, 0xc000), "written as 0 it stays");
    info.set_port_state_change(true);
    set(&mut emulator, TO_S, 0, &info);
    assert!(!emulator.world().switch_info(S).unwrap().port_state_change());
    info.set_linear_fdb_top(0xc000);
    assert_eq!(set(&mut emulator, TO_S, 0, &info).status(), Status(0x1c));
}

#[test]
fn the_manager_itself_is_asked_for_its_sm_info() {
    let mut emulator = emulator();
    send(&mut emulator, Address::Directed, Mad::directed(&Path::local(), Method::GET, SmInfo::ID, 0));
    let question = receive(&mut emulator).unwrap().mad;
    assert_eq!((question.method(), question.attribute_id()), (Method::GET, SmInfo::ID));
    let mut answer = question;
    answer.set_method(Method::GET_RESP);
    answer.set_returning(true);
    send(&mut emulator, Address::Directed, answer);
    assert_eq!(receive(&mut emulator).unwrap().mad.method(), Method::GET_RESP);
}

#[test]
fn speeds_and_widths_are_those_of_the_cables() {
    use heddle_fabric::{FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef};
    let speeds = heddle_fabric::LinkSpeed::ALL;
    let mut builder = FabricBuilder::new();
    for guid in 1..=2 {
        let mut spec = NodeSpec::new(NodeKind::Switch, Guid(guid), speeds.len() as u8, "switch");
        spec.vendor_id = 0x2c9;
        builder.add_node(spec).unwrap();
    }
    for (speed, port) in speeds.into_iter().zip(1..) {
        let link = Link { width: Some(heddle_fabric::LinkWidth::X2), speed: Some(speed) };
        builder.connect(PortRef::new(NodeIndex(0), port), PortRef::new(NodeIndex(1), port), link).unwrap();
    }
    let mut emulator = Emulator::new(&builder.build(), PortRef::new(NodeIndex(0), 0)).unwrap();
    for (speed, port) in speeds.into_iter().zip(1..) {
        let info: PortInfo = get::<PortInfo>(&mut emulator, &[1], port).unwrap().attribute();
        let extended: ExtendedPortInfo = get::<ExtendedPortInfo>(&mut emulator, &[1], port).unwrap().attribute();
        assert_eq!(extended.active_speed(&info).unwrap().to_string(), speed.to_string());
        assert_eq!(info.active_width(), Some(LinkWidth::X2));
    }
}
