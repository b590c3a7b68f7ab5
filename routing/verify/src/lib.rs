//! Proof of forwarding tables, independent of the engines that made them.
//!
//! [`verify`] says of [`Tables`] for a [`Fabric`] whether
//!
//! - every LID of every end port is reached from every switch, and so from every host, of the same part of the fabric, and the packet leaves
//!   the last switch by exactly the port of the LID's owner;
//! - no packet goes in circles;
//! - packets that wait for each other's buffers can never wait in a circle: the tables are free of deadlock.
//!
//! For the last, it builds the *channel dependency graph*: a channel is a port of exit of a switch, and the tables make channel a
//! depend on channel b if a packet that arrives by a can leave by b. Without a cycle there is no deadlock (W. J. Dally and C. L. Seitz,
//! IEEE Trans. Computers C-36, 1987). If there is none, the verifier hands out a [`Certificate`]: a rank for each channel that goes up
//! along every dependency, which [`check_certificate`] checks with a loop of a few lines and no graph. Otherwise it hands out a
//! [`Witness`]: a cycle, and a destination for each step of it.
//!
//! **Parts.** Between some switches there may be no way over cables. That is no fault of the tables: [`Parts`] tells how many pairs are apart.
//! Packets to a LID in another part must be dropped: by an entry that says so, or at a port without a cable. What goes in circles or to another
//! node instead is a fault, and their dependencies count like all others.
//!
//! **Virtual lanes.** Credits belong to a (channel, VL) pair. Whatever SL a packet has and whatever VL each hop maps it to, a dependency
//! between two such pairs is one between their channels. So tables whose channels alone are free of cycles are free of deadlock for every
//! SL and every SL-to-VL mapping, with one VL as with fifteen; this is what is proved here.
//!
//! Tables can also say which SLs their routes have, and to which VLs switches map them ([`heddle_fabric::Lanes`]). Where the channels alone
//! have a cycle, the dependencies between the VLs of channels decide: those of all packets with these SLs.
//!
//! **Which traffic counts.** Everything that has a host at one end: all packets to hosts' LIDs, from wherever, and packets to switches'
//! LIDs from switches that have hosts. What switches without hosts send to each other is subnet management on VL 15, which has no credits
//! and so cannot take part in a deadlock (IBA chapter 7, "Flow control"), unless a manager runs on such a switch: its questions for
//! performance counters go on a data VL and are not counted. In a tree, routes between spines have to turn up again, and with them no
//! tables would pass. If the tables are free of cycles even with them, the certificate says so
//! ([`Certificate::covers_switch_to_switch`]).
//!
//! [`verify_transition`] looks at the way from old tables to new ones: what packets can meet while some switches have the ones and some the others.
//!
//! [`verify_multicast`] does the same for the trees of multicast groups beside unicast tables.
//!
//! [`prove`] makes a [`Proven`], the only kind of tables that a subnet manager accepts. [`Proven::apply`] makes the next one out of it when
//! the fabric changes, and follows only what changed. [`quality`] and [`patterns`] say how good routes are.
//!
//! Everything is `O(switches * LIDs)` with one pass over the tables in blocks of 64 LIDs, spread over rayon's threads; the results do not
//! depend on their number.
//!
//! ```
//! use heddle_fabric::{SwitchIndex, Tables, generate};
//! use std::sync::Arc;
//!
//! let mut builder = generate("ring:2,hosts=1").unwrap();
//! builder.assign_lids().unwrap();
//! let fabric = Arc::new(builder.build());
//!
//! let empty = Tables::new(&fabric, "nobody");
//! assert!(!heddle_verify::verify(&fabric, &empty).connected());
//!
//! // With two switches, a packet is where it has to go, or there is one way.
//! let mut tables = Tables::new(&fabric, "by hand");
//! for switch in [SwitchIndex(0), SwitchIndex(1)] {
//!     for end in fabric.end_ports() {
//!         let across = fabric.arcs(switch)[0].port;
//!         let port = if end.switch == switch { end.switch_port } else { across };
//!         tables.row_mut(switch)[end.lid.index()] = port;
//!     }
//! }
//! let proven = heddle_verify::prove(fabric, tables).unwrap();
//! assert!(proven.certificate().covers_switch_to_switch);
//! ```
#![forbid(unsafe_code)]

mod apply;
mod certificate;
mod checker;
mod cycle;
mod dependencies;
mod kept;
mod lanes;
mod multicast;
mod net;
mod parts;
mod patterns;
mod proven;
mod quality;
mod reach;
mod report;
mod traffic;
mod transition;
mod witness;

pub use apply::Extent;
pub use certificate::{Certificate, Violation};
pub use checker::check_certificate;
pub use multicast::{MulticastFault, MulticastReport, MulticastStep, MulticastWitness, Packets, verify_multicast};
pub use parts::{Part, Parts};
pub use patterns::{Effort, Patterns, patterns};
pub use proven::{Proven, prove};
pub use quality::{Quality, quality};
pub use report::{Deadlock, Place, Reason, Report, Unreachable};
pub use transition::{MixedDrop, MixedLoop, MixedStep, MixedWitness, Side, Transition, verify_transition};
pub use witness::{Step, Witness};

use heddle_fabric::{Fabric, Tables};
use kept::Kept;

/// Proves tables, or says what is wrong with them.
///
/// Tables that were made for another fabric drop what they do not know. `O(switches * LIDs + channels * ports)`; half of it again for
/// tables with a fault, since only then each LID's routes are followed one by one.
#[must_use]
pub fn verify(fabric: &Fabric, tables: &Tables) -> Report {
    examine(fabric, tables).0
}

/// The report, and what the proof of a change needs if the channels alone are free of cycles.
fn examine(fabric: &Fabric, tables: &Tables) -> (Report, Option<Kept>) {
    let net = net::Net::new(fabric);
    let parts = Parts::of(fabric);
    let found = dependencies::collect(&net, tables);
    let mut deadlock = match cycle::ranks(&net, &found.counted) {
        None => Deadlock::Cyclic(witness::find(&net, tables, &found.counted)),
        // Beside those of the traffic that counts, these are the dependencies of all other traffic.
        Some(ranks) => Deadlock::Free(match cycle::ranks(&net, &found.all) {
            Some(ranks) => Certificate { vls: 1, ranks, covers_switch_to_switch: true },
            None => Certificate { vls: 1, ranks, covers_switch_to_switch: false },
        }),
    };
    let kept = match &deadlock {
        Deadlock::Free(certificate) => Some(Kept::new(&net, &found.counted, certificate.ranks.clone())),
        Deadlock::Cyclic(_) => None,
    };
    // A route that ends does so at its owner, unless an entry led elsewhere; and one that never ends is a cycle of dependencies. (VLs may
    // know no SL for the packets on it, so this must be asked before them.)
    let sound = found.sound && parts.len() <= 1 && matches!(deadlock, Deadlock::Free(_));
    let mut dropped = 0;
    if let Some(lanes) = tables.lanes() {
        let found = lanes::collect(&net, tables, lanes, lanes.vls());
        dropped = found.dropped;
        // Where the channels alone have no circle, their VLs have none. And on one VL the channels are all there is.
        if matches!(deadlock, Deadlock::Cyclic(_)) && lanes.vls() > 1 {
            deadlock = match cycle::ranks(&net, &found.set) {
                None => Deadlock::Cyclic(witness::find(&net, tables, &found.set)),
                Some(ranks) => Deadlock::Free(Certificate { vls: lanes.vls(), ranks, covers_switch_to_switch: false }),
            };
        }
    }
    let reach = if sound { reach::Reach::default() } else { reach::follow_all(&net, tables) };
    let report = Report {
        engine: tables.engine().to_owned(),
        switches: fabric.switch_count(),
        end_ports: fabric.end_ports().len(),
        lids: net.columns().map(|columns| columns.len()).sum(),
        unreachable: reach.kept.into_iter().map(|(switch, lid)| reach::explain(&net, tables, switch, lid)).collect(),
        parts,
        unreachable_from_hosts: reach.from_hosts,
        unreachable_from_switches: reach.from_switches,
        looping: reach.looping,
        unowned_entries: found.unowned_entries,
        dropped_by_sl: dropped,
        deadlock,
    };
    (report, kept)
}
