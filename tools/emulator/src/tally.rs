use crate::events::ErrorCounter;

/// What crossed a port since the power came on, and what did not. Wide, so that nothing here ever overflows; the counters of the
/// management attributes are narrower, and can be cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Units of 4 bytes sent.
    pub xmit_data: u64,
    /// Units of 4 bytes received.
    pub rcv_data: u64,
    /// Packets sent.
    pub xmit_pkts: u64,
    /// Packets received.
    pub rcv_pkts: u64,
    /// Of the packets sent, those to several receivers.
    pub xmit_multicast_pkts: u64,
    /// Of the packets received, those to several receivers.
    pub rcv_multicast_pkts: u64,
    /// Ticks (4 ns) in which there was something to send and no credit to send it.
    pub xmit_wait: u64,
    /// Minor errors of the link.
    pub symbol_errors: u64,
    /// How many times the link recovered from errors.
    pub link_error_recoveries: u64,
    /// How many times the link went down.
    pub link_downed: u64,
    /// How many times there were too many errors of the link at a time.
    pub local_link_integrity_errors: u64,
    /// How many times the buffers overran.
    pub excessive_buffer_overruns: u64,
    /// Packets of subnet management for which there was no room.
    pub vl15_dropped: u64,
    /// Packets of general services for which there was no room.
    pub qp1_dropped: u64,
    /// Packets that came in damaged: spoilt on the cable, malformed, or at a port that does not have their LID.
    pub rcv_errors: u64,
    /// Packets that came in marked as damaged before.
    pub rcv_remote_physical_errors: u64,
    /// Packets that came in and that the switch could not pass on: see the three fields below.
    pub rcv_switch_relay_errors: u64,
    /// Packets that the forwarding table leads nowhere.
    pub dlid_mapping_errors: u64,
    /// Packets whose service level has no VL.
    pub vl_mapping_errors: u64,
    /// Packets that the forwarding table leads back, or in a circle.
    pub looping_errors: u64,
    /// Packets of other partitions that came in.
    pub rcv_constraint_errors: u64,
    /// Packets of other partitions that were to leave.
    pub xmit_constraint_errors: u64,
    /// Packets that were to leave and did not: see the four fields below.
    pub xmit_discards: u64,
    /// Packets that were to leave by the port while its link was down or not ACTIVE.
    pub inactive_discards: u64,
    /// Packets longer than NeighborMTU.
    pub mtu_discards: u64,
    /// Packets that were in the switch for longer than SwitchInfo's LifeTimeValue.
    pub lifetime_discards: u64,
    /// Packets that were at the head of their queue for longer than HOQLife.
    pub hoq_discards: u64,
    /// By service level and VL, of data packets: `None` while there was none. VL 15 is what is missing in the sums.
    pub lanes: Option<Box<Lanes>>,
}

/// Data packets by service level and by VL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// By service level: units of 4 bytes sent.
    pub sl_xmit_data: [u64; 16],
    /// By service level: units of 4 bytes received.
    pub sl_rcv_data: [u64; 16],
    /// By VL: packets received.
    pub vl_rcv_pkts: [u64; 16],
    /// By VL: units of 4 bytes received.
    pub vl_rcv_data: [u64; 16],
    /// By VL: as [`Tally::xmit_wait`].
    pub vl_xmit_wait: [u64; 16],
}

impl Tally {
    /// Counts a packet that left, of so many units of 4 bytes; `lane` is its service level and VL, unless that is VL 15.
    pub(crate) fn sent(&mut self, data: u64, lane: Option<(u8, u8)>) {
        self.xmit_pkts += 1;
        self.xmit_data += data;
        if let Some((sl, _)) = lane {
            self.lanes.get_or_insert_default().sl_xmit_data[usize::from(sl & 15)] += data;
        }
    }

    /// A counter of errors.
    pub(crate) fn error_mut(&mut self, counter: ErrorCounter) -> &mut u64 {
        match counter {
            ErrorCounter::Symbol => &mut self.symbol_errors,
            ErrorCounter::Recovery => &mut self.link_error_recoveries,
            ErrorCounter::Downed => &mut self.link_downed,
            ErrorCounter::Receive => &mut self.rcv_errors,
            ErrorCounter::RemotePhysical => &mut self.rcv_remote_physical_errors,
            ErrorCounter::Relay => &mut self.rcv_switch_relay_errors,
            ErrorCounter::Discard => &mut self.xmit_discards,
            ErrorCounter::TransmitConstraint => &mut self.xmit_constraint_errors,
            ErrorCounter::ReceiveConstraint => &mut self.rcv_constraint_errors,
            ErrorCounter::Integrity => &mut self.local_link_integrity_errors,
            ErrorCounter::Overrun => &mut self.excessive_buffer_overruns,
            ErrorCounter::Vl15 => &mut self.vl15_dropped,
        }
    }

    /// Counts a packet that came in, as [`Tally::sent`].
    pub(crate) fn received(&mut self, data: u64, lane: Option<(u8, u8)>) {
        self.rcv_pkts += 1;
        self.rcv_data += data;
        if let Some((sl, vl)) = lane {
            let lanes = self.lanes.get_or_insert_default();
            lanes.sl_rcv_data[usize::from(sl & 15)] += data;
            lanes.vl_rcv_pkts[usize::from(vl & 15)] += 1;
            lanes.vl_rcv_data[usize::from(vl & 15)] += data;
        }
    }

    /// Counts all that another one did.
    pub(crate) fn add(&mut self, more: &Self) {
        self.xmit_data += more.xmit_data;
        self.rcv_data += more.rcv_data;
        self.xmit_pkts += more.xmit_pkts;
        self.rcv_pkts += more.rcv_pkts;
        self.xmit_multicast_pkts += more.xmit_multicast_pkts;
        self.rcv_multicast_pkts += more.rcv_multicast_pkts;
        self.xmit_wait += more.xmit_wait;
        self.symbol_errors += more.symbol_errors;
        self.link_error_recoveries += more.link_error_recoveries;
        self.link_downed += more.link_downed;
        self.local_link_integrity_errors += more.local_link_integrity_errors;
        self.excessive_buffer_overruns += more.excessive_buffer_overruns;
        self.vl15_dropped += more.vl15_dropped;
        self.qp1_dropped += more.qp1_dropped;
        self.rcv_errors += more.rcv_errors;
        self.rcv_remote_physical_errors += more.rcv_remote_physical_errors;
        self.rcv_switch_relay_errors += more.rcv_switch_relay_errors;
        self.dlid_mapping_errors += more.dlid_mapping_errors;
        self.vl_mapping_errors += more.vl_mapping_errors;
        self.looping_errors += more.looping_errors;
        self.rcv_constraint_errors += more.rcv_constraint_errors;
        self.xmit_constraint_errors += more.xmit_constraint_errors;
        self.xmit_discards += more.xmit_discards;
        self.inactive_discards += more.inactive_discards;
        self.mtu_discards += more.mtu_discards;
        self.lifetime_discards += more.lifetime_discards;
        self.hoq_discards += more.hoq_discards;
        if let Some(more) = &more.lanes {
            let lanes = self.lanes.get_or_insert_default();
            for (row, more) in [
                (&mut lanes.sl_xmit_data, &more.sl_xmit_data),
                (&mut lanes.sl_rcv_data, &more.sl_rcv_data),
                (&mut lanes.vl_rcv_pkts, &more.vl_rcv_pkts),
                (&mut lanes.vl_rcv_data, &more.vl_rcv_data),
                (&mut lanes.vl_xmit_wait, &more.vl_xmit_wait),
            ] {
                row.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
        }
    }
}
