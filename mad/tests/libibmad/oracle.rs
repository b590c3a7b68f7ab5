//! Asks libibmad.

use crate::general_services::{self, Part};
use crate::tables::*;
use heddle_mad::wire::{Attribute, Field};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// What libibmad says, by name.
pub(crate) struct Oracle {
    fields: BTreeMap<String, TheirField>,
    constants: BTreeMap<String, u64>,
    dumps: BTreeMap<(String, u64), String>,
}

pub(crate) struct TheirField {
    /// A block of zeros in which the field has all its bits set.
    pub(crate) ones: [u8; 256],
    rounds: Vec<Round>,
}

/// What libibmad did to a block of random bytes.
struct Round {
    before: [u8; 256],
    /// The field's value, read.
    got: Vec<u8>,
    /// The value that was set, and the block then.
    set: Vec<u8>,
    after: [u8; 256],
}

impl Oracle {
    pub(crate) fn new() -> Self {
        let lists =
            [MAD, NODE_INFO, SWITCH_INFO, PORT_INFO, SM_INFO, NOTICE, GUID_INFO, EXTENDED_PORT_INFO, LFT, MFT, DESCRIPTION, SL_TO_VL];
        let ids = lists.iter().chain(general_services::ALL).copied().flatten().flat_map(|(_, ids)| ids.iter());
        let parts = general_services::ALL_PARTS.iter().copied().flatten().map(|(_, _, id)| id);
        let more =
            ["IB_DRSMP_PATH_F", "IB_DRSMP_RPATH_F", "IB_NOTICE_DATA_LID_F", "IB_NOTICE_DATA_144_LID_F", "IB_NOTICE_DATA_144_CAPMASK_F"];
        let mut calls = String::new();
        let wanted: BTreeSet<&str> = ids.chain(parts).chain(&more).copied().collect();
        for id in wanted {
            writeln!(calls, "\tfield(\"{id}\", {id});").unwrap();
        }
        for name in CONSTANTS {
            writeln!(calls, "\tprintf(\"constant {name} %llu\\n\", (unsigned long long){name});").unwrap();
        }
        for dumper in DUMPERS {
            writeln!(calls, "\tdump(\"{dumper}\", {dumper});").unwrap();
        }
        let output = run_c(&include_str!("oracle.c").replace("CALLS", &calls));
        let mut oracle = Self { fields: BTreeMap::new(), constants: BTreeMap::new(), dumps: BTreeMap::new() };
        for line in output.lines() {
            oracle.take(line);
        }
        oracle
    }

    fn take(&mut self, line: &str) {
        let (kind, rest) = line.split_once(' ').unwrap();
        let (name, rest) = rest.split_once(' ').unwrap();
        match kind {
            "field" => {
                let mut words = rest.split(' ').map(from_hex);
                let ones = block(words.next().unwrap());
                let mut rounds = Vec::new();
                while let Some(before) = words.next() {
                    let mut next = || words.next().unwrap();
                    rounds.push(Round { before: block(before), got: next(), set: next(), after: block(next()) });
                }
                assert!(!rounds.is_empty(), "{line}");
                self.fields.insert(name.into(), TheirField { ones, rounds });
            }
            "constant" => {
                self.constants.insert(name.into(), rest.parse().unwrap());
            }
            "dump" => {
                let (code, text) = rest.split_once(' ').unwrap();
                self.dumps.insert((name.into(), code.parse().unwrap()), text.into());
            }
            _ => panic!("{line}"),
        }
    }

    pub(crate) fn field(&self, id: &str) -> &TheirField {
        self.fields.get(id).unwrap_or_else(|| panic!("the program printed nothing about {id}"))
    }

    pub(crate) fn constant(&self, name: &str) -> u64 {
        *self.constants.get(name).unwrap_or_else(|| panic!("the program printed nothing about {name}"))
    }

    /// What a function of libibmad prints for a value, line ends made spaces.
    pub(crate) fn dumped(&self, dumper: &str, value: u64) -> &str {
        self.dumps.get(&(dumper.into(), value)).unwrap_or_else(|| panic!("the program printed nothing about {dumper} {value}"))
    }

    /// libibmad prints `expected`; if that is `None`, a text that says that there is no meaning.
    pub(crate) fn check_code(&self, dumper: &str, code: u8, expected: Option<&str>) {
        let text = self.dumped(dumper, code.into());
        let unknown = ["?", "undefined", "Unknown", "NoState", "No state change", "NoChange", "No Extended Speed", "Extended speed"];
        match expected {
            Some(expected) => assert_eq!(text, expected, "{dumper} {code}"),
            None => assert!(unknown.iter().any(|word| text.contains(word)), "{dumper} {code} is {text:?}, and we know no such code"),
        }
    }

    pub(crate) fn check_attribute<A: Attribute>(&self, same: &[Same], beyond: &[Beyond]) {
        self.check(A::NAME, A::FIELDS, same, beyond);
    }

    /// As [`Oracle::check_attribute`], for one with rows of entries that libibmad has as structures of their own.
    pub(crate) fn check_entries<A: Attribute>(&self, same: &[Same], parts: &[Part]) {
        let beyond: Vec<Beyond> = parts.iter().map(|(name, _, id)| (*name, *id)).collect();
        self.check(A::NAME, A::FIELDS, same, &beyond);
        for (name, begin, id) in parts {
            let field = A::FIELDS.iter().find(|field| field.name == *name).unwrap();
            self.check_field(A::NAME, &Field::new(field.name, field.bit - begin, field.width), &[id]);
        }
    }

    /// Checks each field in `same`; no field may be missing from both lists, or be in both.
    pub(crate) fn check(&self, attribute: &str, fields: &[Field], same: &[Same], beyond: &[Beyond]) {
        let mut listed: Vec<&str> = same.iter().map(|(name, _)| *name).chain(beyond.iter().map(|(name, _)| *name)).collect();
        let mut ours: Vec<&str> = fields.iter().map(|field| field.name).collect();
        listed.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, listed, "every field of {attribute} is compared, or listed with its source");
        for (name, ids) in same {
            self.check_field(attribute, fields.iter().find(|field| field.name == *name).unwrap(), ids);
        }
    }

    /// The bits of our field, in order, are the bits of theirs, in order.
    pub(crate) fn check_field(&self, attribute: &str, field: &Field, ids: &[&str]) {
        let name = field.name;
        let mut expected = [0; 256];
        ids.iter().for_each(|id| expected.iter_mut().zip(self.field(id).ones).for_each(|(byte, more)| *byte |= more));
        let mut ones = [0; 256];
        (0..field.count).for_each(|index| field.write_at(&mut ones, index, u64::MAX));
        assert_eq!(set_bits(&ones), set_bits(&expected), "the bits of {attribute} {name}");

        for round in 0..self.field(ids[0]).rounds.len() {
            // Fields that are parts of ours each have random blocks of their own: put the parts into one block.
            let (mut start, mut end) = ([0; 256], [0; 256]);
            let (mut got, mut set) = (Bits::default(), Bits::default());
            for id in ids {
                let theirs = self.field(id);
                let Round { before, got: their_got, set: their_set, after } = &theirs.rounds[round];
                let mask = theirs.ones;
                let width = mask.iter().map(|byte| byte.count_ones() as usize).sum();
                got.push(their_got, width);
                set.push(their_set, width);
                for byte in 0..256 {
                    assert_eq!(before[byte] & !mask[byte], after[byte] & !mask[byte], "libibmad changed more than {id}");
                    start[byte] |= before[byte] & mask[byte];
                    end[byte] |= after[byte] & mask[byte];
                }
            }
            let mut ours = Bits::default();
            (0..field.count).for_each(|index| ours.push(&field.read_at(&start, index).to_be_bytes(), field.width));
            assert_eq!(ours.0, got.0, "reading {attribute} {name}");

            let mut block = start;
            (0..field.count).for_each(|index| field.write_at(&mut block, index, set.number(index * field.width, field.width)));
            assert_eq!(block, end, "writing {attribute} {name}");
        }
    }
}

/// A run of bits, most significant first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    /// Appends the last `width` bits of a big-endian number.
    fn push(&mut self, number: &[u8], width: usize) {
        let all = 8 * number.len();
        self.0.extend((all - width..all).map(|bit| number[bit / 8] >> (7 - bit % 8) & 1 == 1));
    }

    fn number(&self, start: usize, width: usize) -> u64 {
        self.0[start..start + width].iter().fold(0, |number, &bit| number << 1 | u64::from(bit))
    }
}

fn set_bits(block: &[u8; 256]) -> Vec<usize> {
    (0..8 * block.len()).filter(|bit| block[bit / 8] >> (7 - bit % 8) & 1 == 1).collect()
}

fn block(bytes: Vec<u8>) -> [u8; 256] {
    bytes.try_into().unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|place| u8::from_str_radix(&text[place..place + 2], 16).unwrap()).collect()
}

/// Compiles and runs a C program that uses libibmad.
fn run_c(program: &str) -> String {
    const HINT: &str = "this test needs a C compiler and libibmad: apt-get install gcc libibmad-dev libibumad-dev";
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("oracle.c"), folder.path().join("oracle"));
    fs::write(&source, program).unwrap();
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&binary).arg("-libmad").output();
    let compiled = compiled.unwrap_or_else(|error| panic!("cannot run cc: {error}; {HINT}"));
    assert!(compiled.status.success(), "cc failed; {HINT}\n{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&binary).output().unwrap();
    assert!(output.status.success(), "the compiled program failed: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const CONSTANTS: &[&str] = &[
    "CLASS_PORT_INFO",
    "IB_ATTR_GUID_INFO",
    "IB_ATTR_LINEARFORWTBL",
    "IB_ATTR_MLNX_EXT_PORT_INFO",
    "IB_ATTR_MULTICASTFORWTBL",
    "IB_ATTR_NODE_DESC",
    "IB_ATTR_NODE_INFO",
    "IB_ATTR_PKEY_TBL",
    "IB_ATTR_PORT_INFO",
    "IB_ATTR_SLVL_TABLE",
    "IB_ATTR_SMINFO",
    "IB_ATTR_SWITCH_INFO",
    "IB_ATTR_VL_ARBITRATION",
    "IB_CC_ATTR_CA_CONGESTION_SETTING",
    "IB_CC_ATTR_CONGESTION_CONTROL_TABLE",
    "IB_CC_ATTR_CONGESTION_INFO",
    "IB_CC_ATTR_CONGESTION_KEY_INFO",
    "IB_CC_ATTR_CONGESTION_LOG",
    "IB_CC_ATTR_SWITCH_CONGESTION_SETTING",
    "IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING",
    "IB_CC_ATTR_TIMESTAMP",
    "IB_CC_CLASS",
    "IB_CC_DATA_OFFS",
    "IB_CC_DATA_SZ",
    "IB_CC_LOG_DATA_OFFS",
    "IB_CC_LOG_DATA_SZ",
    "IB_GSI_PORT_COUNTERS",
    "IB_GSI_PORT_COUNTERS_EXT",
    "IB_GSI_PORT_EXT_SPEEDS_COUNTERS",
    "IB_GSI_PORT_PORT_FLOW_CTL_COUNTERS",
    "IB_GSI_PORT_PORT_OP_RCV_COUNTERS",
    "IB_GSI_PORT_PORT_VL_OP_DATA",
    "IB_GSI_PORT_PORT_VL_OP_PACKETS",
    "IB_GSI_PORT_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS",
    "IB_GSI_PORT_PORT_VL_XMIT_WAIT_COUNTERS",
    "IB_GSI_PORT_RCV_CON_CTRL",
    "IB_GSI_PORT_RCV_DATA_SL",
    "IB_GSI_PORT_RCV_ERROR_DETAILS",
    "IB_GSI_PORT_SAMPLES_CONTROL",
    "IB_GSI_PORT_SAMPLES_RESULT",
    "IB_GSI_PORT_SL_RCV_BECN",
    "IB_GSI_PORT_SL_RCV_FECN",
    "IB_GSI_PORT_VL_XMIT_TIME_CONG",
    "IB_GSI_PORT_XMIT_CON_CTRL",
    "IB_GSI_PORT_XMIT_DATA_SL",
    "IB_GSI_PORT_XMIT_DISCARD_DETAILS",
    "IB_GSI_SW_PORT_VL_CONGESTION",
    "IB_MAD_METHOD_GET",
    "IB_MAD_METHOD_GET_RESPONSE",
    "IB_MAD_METHOD_SET",
    "IB_MAD_METHOD_TRAP",
    "IB_MAD_METHOD_TRAP_REPRESS",
    "IB_MAD_STS_BAD_BASE_VER_OR_CLASS",
    "IB_MAD_STS_INV_ATTR_VALUE",
    "IB_MAD_STS_METHOD_ATTR_NOT_SUPPORTED",
    "IB_MAD_STS_METHOD_NOT_SUPPORTED",
    "IB_PC_DATA_OFFS",
    "IB_PC_DATA_SZ",
    "IB_PERFORMANCE_CLASS",
    "IB_SA_CLASS",
    "IB_SMI_CLASS",
    "IB_SMI_DIRECT_CLASS",
    "IB_SMP_DATA_OFFS",
    "IB_SMP_DATA_SIZE",
    "IB_VENDOR_RANGE1_DATA_OFFS",
    "IB_VENDOR_RANGE1_DATA_SIZE",
    "NOTICE",
];

const DUMPERS: &[&str] = &[
    "mad_dump_linkspeed",
    "mad_dump_linkspeedext",
    "mad_dump_linkwidth",
    "mad_dump_mtu",
    "mad_dump_physportstate",
    "mad_dump_portcapmask",
    "mad_dump_portcapmask2",
    "mad_dump_portstate",
];
