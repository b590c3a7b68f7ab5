//! The words of statements.

use crate::events::{ErrorCounter, Subject};
use crate::traps::LinkTrouble;
use heddle_mad::wire::{
    ArForwardingTable, ArGroupTable, ArGroupTableCopy, ArInfo, Attribute, AttributeId, Class, ExtendedPortInfo, GeneralInfo, GuidInfo,
    LinearForwardingTable, MulticastForwardingTable, NodeDescription, NodeInfo, PKeyTable, PortInfo, SlToVlMapping, SmInfo, Status,
    SwitchInfo, VlArbitration,
};

/// What a statement can say.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// Its first word.
    pub name: &'static str,
    /// What follows. CABLES are `NODE:PORT` (either end), `NODE` (all its cables), `all` or `any link`; NODES are `NODE`, `all`,
    /// `any switch`, `any host` or `any node`.
    pub arguments: &'static str,
    /// What happens.
    pub meaning: &'static str,
    /// Whether `for TIME` may follow, after which it is undone.
    pub ends: bool,
}

const fn verb(name: &'static str, arguments: &'static str, meaning: &'static str) -> Verb {
    Verb { name, arguments, meaning, ends: false }
}

const fn state(name: &'static str, arguments: &'static str, meaning: &'static str) -> Verb {
    Verb { name, arguments, meaning, ends: true }
}

/// All verbs, in the order in which a user wants to read of them.
pub const VERBS: &[Verb] = &[
    state("cut", "CABLES", "breaks them: both ends see it"),
    verb("restore", "CABLES", "as good as new: ends all from `cut` to `repeat`"),
    state("degrade", "CABLES 1x|2x|4x|8x|SDR|DDR|...", "they train again, with no more than this"),
    state("loss", "CABLES PERCENT", "they lose packets in silence"),
    state("corrupt", "CABLES PERCENT", "they damage packets, which are dropped and counted"),
    state("delay", "CABLES TIME", "packets take so much longer, in each direction"),
    state("reorder", "CABLES PERCENT", "packets are held back, for up to 1ms"),
    state("repeat", "CABLES PERCENT", "packets arrive twice"),
    state("move", "NODE:PORT NODE:PORT", "puts a cable's end into another port, which is free"),
    state("swap", "NODE:PORT NODE:PORT", "the cables in two ports change places"),
    state("split", "NODE...", "cuts these nodes, with their hosts, from the rest"),
    verb("merge", "NODE...", "restores what `split` cuts"),
    state("remove", "NODES", "they lose their power"),
    verb("return", "NODES", "they are back and have forgotten everything"),
    state("reboot", "NODES [for TIME]", "they are removed, and return after the time [1s]"),
    state("mute", "NODES", "they forward, but answer nothing"),
    verb("heal", "NODES", "all right again: ends all from `mute` to `guid`"),
    state("garbage", "NODES [SEED]", "they answer with nonsense"),
    state("duplicate", "NODES", "they answer everything twice"),
    state("late", "NODES TIME", "their answers come so much later"),
    state("slow", "NODES TIME", "each request takes them so long; others wait"),
    state("drop", "NODES PERCENT [SEED]", "they ignore so many of the requests"),
    state("queue", "NODES COUNT", "so many SMPs may wait; more are dropped and counted"),
    state("ignore", "NODES ATTRIBUTE", "they never answer requests for the attribute"),
    state("refuse", "NODES ATTRIBUTE STATUS", "they answer with this status, and do nothing"),
    state("forget", "NODES ATTRIBUTE", "they say that they did a Set, but did nothing"),
    state("babble", "NODE:PORT 129|130|131 TIME", "sends this trap again and again, repressed or not"),
    state("guid", "NODE GUID|NODE", "it has this GUID, or the one of that node"),
    state("rename", "NODE NAME", "its NodeDescription changes"),
    verb("mkey", "NODES KEY [PROTECTION]", "sets their M_Key and M_KeyProtectBits [1]"),
    verb("pkey", "NODE:PORT INDEX KEY", "writes an entry of the port's P_Key table"),
    verb("errors", "NODE:PORT COUNTER COUNT", "raises an error counter of the port"),
    verb("groups", "NODES COUNT", "their GroupCap of adaptive routing, 1 to 4095, while groups have one sub-group"),
    verb("seed", "NUMBER", "what is random comes from this number"),
];

/// What can be asked over the control socket, beside the [`VERBS`].
pub const QUERIES: &[Verb] = &[
    verb("status", "", "how many nodes, links and clients there are, and what is wrong with them"),
    verb("nodes", "", "all nodes"),
    verb("show", "NODE|NODE:PORT", "what is known of a node or a port"),
    verb("counters", "", "requests, answers, traps and losses since the start"),
    verb("plan", "", "what is yet to happen"),
    verb(
        "traffic",
        "all-to-all|permutation SEED|shift COUNT|incast NODE|attack [packets COUNT] [payload BYTES] [buffer PACKETS] [within TIME] [hoq] \
         [sl SLID:DLID:SL...]",
        "hosts send data by the tables as they are; tells what became of it, and who waits for whom if it stops; attack looks for a stop",
    ),
];

pub(super) const ATTRIBUTES: &[(&str, Subject)] = &[
    (NodeDescription::NAME, smp(NodeDescription::ID)),
    (NodeInfo::NAME, smp(NodeInfo::ID)),
    (SwitchInfo::NAME, smp(SwitchInfo::ID)),
    (GuidInfo::NAME, smp(GuidInfo::ID)),
    (PortInfo::NAME, smp(PortInfo::ID)),
    (PKeyTable::NAME, smp(PKeyTable::ID)),
    (SlToVlMapping::NAME, smp(SlToVlMapping::ID)),
    (VlArbitration::NAME, smp(VlArbitration::ID)),
    (LinearForwardingTable::NAME, smp(LinearForwardingTable::ID)),
    (MulticastForwardingTable::NAME, smp(MulticastForwardingTable::ID)),
    (SmInfo::NAME, smp(SmInfo::ID)),
    (ExtendedPortInfo::NAME, smp(ExtendedPortInfo::ID)),
    (GeneralInfo::NAME, smp(GeneralInfo::ID)),
    (ArInfo::NAME, smp(ArInfo::ID)),
    (ArGroupTable::NAME, smp(ArGroupTable::ID)),
    (ArForwardingTable::NAME, smp(ArForwardingTable::ID)),
    (ArGroupTableCopy::NAME, smp(ArGroupTableCopy::ID)),
    ("ClassPortInfo", Subject { class: Class::PERF, attribute: AttributeId(0x01) }),
    ("PortCounters", Subject { class: Class::PERF, attribute: AttributeId(0x12) }),
    ("PortCountersExtended", Subject { class: Class::PERF, attribute: AttributeId(0x1d) }),
];

/// An attribute of subnet management.
pub(super) const fn smp(attribute: AttributeId) -> Subject {
    Subject { class: Class::SUBN_LID, attribute }
}

pub(super) const STATUSES: &[(&str, Status)] = &[
    ("busy", Status::BUSY),
    ("bad-version", Status::BAD_VERSION),
    ("bad-method", Status::BAD_METHOD),
    ("bad-attribute", Status::BAD_ATTRIBUTE),
    ("bad-field", Status::BAD_FIELD),
];

/// Traps about a link that goes wrong (IBA 14.2.5.1).
pub(super) const TRAPS: &[(&str, LinkTrouble)] =
    &[("129", LinkTrouble::Integrity), ("130", LinkTrouble::BufferOverrun), ("131", LinkTrouble::FlowControl)];

pub(super) const COUNTERS: &[(&str, ErrorCounter)] = &[
    ("symbol", ErrorCounter::Symbol),
    ("recovery", ErrorCounter::Recovery),
    ("downed", ErrorCounter::Downed),
    ("receive", ErrorCounter::Receive),
    ("remote-physical", ErrorCounter::RemotePhysical),
    ("relay", ErrorCounter::Relay),
    ("discard", ErrorCounter::Discard),
    ("transmit-constraint", ErrorCounter::TransmitConstraint),
    ("receive-constraint", ErrorCounter::ReceiveConstraint),
    ("integrity", ErrorCounter::Integrity),
    ("overrun", ErrorCounter::Overrun),
    ("vl15", ErrorCounter::Vl15),
];

/// The value of a word, whatever its case.
pub(super) fn value<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|&(_, value)| value)
}

/// The word of a value.
pub(super) fn name<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, known)| known == value).map(|&(name, _)| name)
}

pub(super) fn list<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ")
}
