//! What the devices of each kind and make can do: read once from `models.json`.
//!
//! The capability masks of adapters are those that `ibstat` prints on such machines, less the bits of attributes that nobody answers
//! here: CableInfo (13) and HierarchyInfo (31). Device numbers are those of the public PCI table and of the lists in libibnetdisc and
//! OpenSM. Where nothing is public, a device has what its elder sister has.

use heddle_fabric::{LinkSpeed, LinkWidth, NodeKind};
use heddle_mad::wire::{AttributeId, CapabilityMask, CapabilityMask2, Mtu, data_vls};
use serde::{Deserialize, Deserializer};
use std::sync::LazyLock;

static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| parse(include_str!("models.json")).expect("a test reads models.json"));

/// What a device can do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    name: String,
    #[serde(deserialize_with = "kind")]
    kind: NodeKind,
    /// With `devices`, whom it is for; those that no other model is for have the one without.
    #[serde(default, deserialize_with = "hexadecimal")]
    vendor: u32,
    #[serde(default, deserialize_with = "hexadecimals")]
    devices: Vec<u16>,
    /// Empty: whatever the cable is said to do.
    #[serde(default, deserialize_with = "speeds")]
    pub(crate) speeds: Vec<LinkSpeed>,
    /// As `speeds`.
    #[serde(default, deserialize_with = "widths")]
    pub(crate) widths: Vec<LinkWidth>,
    /// CapabilityMask of the ports of an adapter, of port 0 of a switch.
    #[serde(deserialize_with = "hexadecimal")]
    capability_mask: u32,
    /// CapabilityMask2, but for the bits of widths and speeds: those follow from what the ports have.
    #[serde(default, deserialize_with = "hexadecimal")]
    capability_mask_2: u16,
    /// P_Keys of an adapter's port and of port 0.
    pub(crate) partition_cap: u16,
    pub(crate) guid_cap: u8,
    /// How many data VLs.
    data_vls: u8,
    /// VLArbitrationLowCap and VLArbitrationHighCap.
    pub(crate) vl_arbitration_cap: u8,
    /// In bytes.
    mtu_cap: u16,
    pub(crate) resp_time_value: u8,
    pub(crate) switch: Option<SwitchModel>,
    /// Whether it has the vendor's attribute ExtendedPortInfo (0xFF90), which tells of FDR10.
    #[serde(default)]
    pub(crate) extended_port_info: bool,
    /// Whether it tells of the extended speeds only to managers that say that they know them (PortInfo's modifier, bit 31).
    #[serde(default)]
    pub(crate) hides_extended_speeds: bool,
    /// Attributes that it never answers, not even with an error.
    #[serde(default, deserialize_with = "attributes")]
    pub(crate) never_answers: Vec<AttributeId>,
}

/// What only a switch can do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchModel {
    pub(crate) linear_fdb_cap: u16,
    pub(crate) multicast_fdb_cap: u16,
    /// P_Keys of a cable port; 0 if cable ports have none.
    pub(crate) partition_enforcement_cap: u16,
    pub(crate) enforces_inbound: bool,
    pub(crate) enforces_outbound: bool,
    pub(crate) filters_raw: bool,
    #[serde(default)]
    pub(crate) enhanced_port0: bool,
    #[serde(default)]
    pub(crate) optimized_sl_to_vl: bool,
    /// The vendor's adaptive routing, if it has that.
    pub(crate) adaptive_routing: Option<AdaptiveModel>,
}

/// Adaptive routing: the sizes are not public, and chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdaptiveModel {
    /// GroupCap while each group has one sub-group.
    pub(crate) groups: u16,
    /// How many sub-groups a group can have.
    pub(crate) sub_groups: u8,
    /// Whether a group can be copied within the switch.
    #[serde(default)]
    pub(crate) group_copy: bool,
    /// Whether static packets can take a port of the group when theirs is down.
    #[serde(default)]
    pub(crate) fast_recovery: bool,
    /// Whether a Set of the plain forwarding table turns it off: so a manual of 2013; of newer switches it is not known.
    #[serde(default)]
    pub(crate) plain_table_disables: bool,
}

impl Model {
    /// The model of a device; of one that is not known, the default of its kind.
    pub(crate) fn of(kind: NodeKind, vendor: u32, device: u16) -> &'static Self {
        let known = |model: &&Self| model.kind == kind && model.vendor == vendor && model.devices.contains(&device);
        let default = |model: &&Self| model.kind == kind && model.is_default();
        MODELS.iter().find(known).or_else(|| MODELS.iter().find(default)).expect("a test makes sure that each kind has a default")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it stands for devices that are not known.
    pub(crate) fn is_default(&self) -> bool {
        self.devices.is_empty()
    }

    pub(crate) fn capabilities(&self) -> CapabilityMask {
        CapabilityMask::from_bits_retain(self.capability_mask)
    }

    pub(crate) fn capabilities_2(&self) -> CapabilityMask2 {
        CapabilityMask2::from_bits_retain(self.capability_mask_2)
    }

    /// The code of VLCap.
    pub(crate) fn vl_cap(&self) -> u8 {
        let code = (1..=5).find(|&code| data_vls(code) == Some(self.data_vls));
        code.unwrap_or_else(|| panic!("{} data VLs of \"{}\" have no code; a test makes sure that they do", self.data_vls, self.name))
    }

    pub(crate) fn mtu_cap(&self) -> Mtu {
        (1..=5).filter_map(Mtu::from_code).find(|mtu| mtu.bytes() == self.mtu_cap).expect("a test makes sure that there is a code")
    }
}

pub(crate) fn parse(text: &str) -> Result<Vec<Model>, serde_json::Error> {
    serde_json::from_str(text)
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NodeKind, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "ca" => Ok(NodeKind::Ca),
        "switch" => Ok(NodeKind::Switch),
        "router" => Ok(NodeKind::Router),
        other => Err(serde::de::Error::custom(format!("\"{other}\" is no kind of node; there are ca, switch and router"))),
    }
}

fn number<N: TryFrom<u32>, E: serde::de::Error>(text: &str) -> Result<N, E> {
    let number = text.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.and_then(|number| number.try_into().ok()).ok_or_else(|| E::custom(format!("\"{text}\" is no hexadecimal number that fits")))
}

fn hexadecimal<'de, N: TryFrom<u32>, D: Deserializer<'de>>(deserializer: D) -> Result<N, D::Error> {
    number(&String::deserialize(deserializer)?)
}

fn hexadecimals<'de, N: TryFrom<u32>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<N>, D::Error> {
    Vec::<String>::deserialize(deserializer)?.iter().map(|text| number(text)).collect()
}

fn attributes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AttributeId>, D::Error> {
    Ok(hexadecimals(deserializer)?.into_iter().map(AttributeId).collect())
}

fn speeds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkSpeed>, D::Error> {
    let known = |name: String| LinkSpeed::ALL.into_iter().find(|speed| speed.name() == name).ok_or(name);
    let speeds: Result<_, _> = Vec::<String>::deserialize(deserializer)?.into_iter().map(known).collect();
    speeds.map_err(|name| serde::de::Error::custom(format!("\"{name}\" is no speed")))
}

fn widths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkWidth>, D::Error> {
    let known = |lanes: u32| LinkWidth::ALL.into_iter().find(|width| width.lanes() == lanes).ok_or(lanes);
    let widths: Result<_, _> = Vec::<u32>::deserialize(deserializer)?.into_iter().map(known).collect();
    widths.map_err(|lanes| serde::de::Error::custom(format!("a link has no {lanes} lanes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_device_has_one_model_and_each_kind_a_default() {
        let models = parse(include_str!("models.json")).unwrap();
        let mut devices = BTreeSet::new();
        for model in &models {
            for &device in &model.devices {
                assert!(devices.insert((model.vendor, device)), "{} has a device {device:#x} of another model", model.name);
            }
            assert_eq!(model.devices.is_empty(), model.vendor == 0, "{}", model.name);
        }
        for kind in [NodeKind::Ca, NodeKind::Switch, NodeKind::Router] {
            assert_eq!(models.iter().filter(|model| model.kind == kind && model.devices.is_empty()).count(), 1);
            assert!(Model::of(kind, 0x1234, 0x5678).name.starts_with("any"));
        }
    }

    #[test]
    fn the_models_make_sense() {
        for model in MODELS.iter() {
            let name = &model.name;
            assert_eq!(model.switch.is_some(), model.kind == NodeKind::Switch, "{name}");
            assert!(data_vls(model.vl_cap()) == Some(model.data_vls) && model.mtu_cap() >= Mtu::B2048, "{name}");
            assert!(model.partition_cap >= 1 && model.guid_cap >= 1 && model.resp_time_value < 32, "{name}: IBA 14.2.5.3, 14.2.5.6");
            assert!(model.vl_arbitration_cap <= 64, "{name}: IBA 14.2.5.9");
            assert_eq!(model.speeds.is_empty(), model.widths.is_empty(), "{name}");
            assert!(model.speeds.is_sorted() && model.widths.is_sorted(), "{name}");
            let extended = model.speeds.iter().any(|&speed| speed >= LinkSpeed::Fdr);
            assert!(model.speeds.is_empty() || model.capabilities().contains(CapabilityMask::EXTENDED_SPEEDS) == extended, "{name}");
            let needs_mask_2 = model.speeds.contains(&LinkSpeed::Hdr) || model.widths.contains(&LinkWidth::X2);
            assert!(!needs_mask_2 || model.capabilities().contains(CapabilityMask::CAPABILITY_MASK_2), "{name} hides its second mask");
            let unanswered = CapabilityMask::CABLE_INFO | CapabilityMask::HIERARCHY_INFO | CapabilityMask::LED_INFO;
            assert!(!model.capabilities().intersects(unanswered), "{name} tells of an attribute that nobody answers");
            if let Some(switch) = &model.switch {
                assert!(switch.linear_fdb_cap <= 0xc000 && switch.multicast_fdb_cap <= 0x3fff, "{name}: IBA 14.2.5.4");
            }
        }
    }

    /// What `ibstat` prints on machines with these adapters, but for bits 13 and 31.
    #[test]
    fn adapters_have_the_masks_that_are_seen_in_the_field() {
        let unanswered = CapabilityMask::CABLE_INFO | CapabilityMask::HIERARCHY_INFO;
        for (device, mask) in
            [(0x1003, 0x02514868), (0x1013, 0x2651e848), (0x1017, 0x2651e848), (0x101b, 0x2651e848), (0x1021, 0xa751e848u32)]
        {
            let seen = CapabilityMask::from_bits_retain(mask) - unanswered;
            assert_eq!(Model::of(NodeKind::Ca, 0x2c9, device).capabilities(), seen, "{device:#x}");
        }
    }

    #[test]
    fn devices_have_the_speed_of_their_generation() {
        use LinkSpeed::*;
        let fastest = |kind, device| Model::of(kind, 0x2c9, device).speeds.last().copied();
        let adapters =
            [(0x673c, Qdr), (0x1003, Fdr), (0x1011, Fdr), (0x1013, Edr), (0x1017, Edr), (0x101b, Hdr), (0x1021, Ndr), (0x1023, Xdr)];
        for (device, speed) in adapters {
            assert_eq!(fastest(NodeKind::Ca, device), Some(speed), "{device:#x}");
        }
        let switches = [(0xbd36, Qdr), (0xc738, Fdr), (0xcb20, Edr), (0xcf08, Edr), (0xd2f0, Hdr), (0xd2f2, Ndr), (0xd2f4, Xdr)];
        for (device, speed) in switches {
            assert_eq!(fastest(NodeKind::Switch, device), Some(speed), "{device:#x}");
        }
        assert_eq!(fastest(NodeKind::Ca, 0xd2f0), None, "a switch's number on an adapter is not known");
    }

    #[test]
    fn a_model_that_makes_no_sense_is_told() {
        let told = |text: &str| parse(text).unwrap_err().to_string();
        assert!(told(r#"[{ "name": "x", "kind": "bridge" }]"#).contains("\"bridge\" is no kind of node"));
        assert!(told(r#"[{ "name": "x", "kind": "ca", "devices": ["0x12345"] }]"#).contains("\"0x12345\" is no hexadecimal number"));
        assert!(told(r#"[{ "name": "x", "kind": "ca", "speeds": ["GDR"] }]"#).contains("\"GDR\" is no speed"));
        assert!(told(r#"[{ "name": "x", "kind": "ca", "widths": [3] }]"#).contains("no 3 lanes"));
        assert!(told(r#"[{ "name": "x", "kind": "ca", "colour": 1 }]"#).contains("colour"));
    }
}
