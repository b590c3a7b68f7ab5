use super::programmed::Arbitration;

/// Where a port's VL arbitration is (IBA 7.6.9.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arbiter {
    high: Turn,
    low: Turn,
    /// Bytes that the high table may still send before the low one has a turn.
    high_left: i64,
    by_high: bool,
    /// Without tables: the VL that had the last turn.
    last: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    entry: u8,
    /// Bytes that the entry may still send.
    left: i64,
}

impl Arbiter {
    /// The next VL among `ready` (a bit each); `None` if none of them has a turn.
    pub(super) fn next(&mut self, tables: &Arbitration, ready: u16) -> Option<u8> {
        if tables.high.is_empty() && tables.low.is_empty() {
            // The first after the last one, in circles.
            let after = ready & (0xfffe << self.last.min(14));
            self.last = (if after == 0 { ready } else { after }).trailing_zeros() as u8;
            return (ready != 0).then_some(self.last);
        }
        let high = self.high.peek(&tables.high, ready);
        let low = self.low.peek(&tables.low, ready);
        if low.is_none() || tables.limit_of_high == 255 {
            self.high_left = i64::MAX;
        }
        self.by_high = high.is_some() && self.high_left > 0;
        let (turn, table) = if self.by_high { (&mut self.high, &tables.high) } else { (&mut self.low, &tables.low) };
        *turn = if self.by_high { high? } else { low? };
        Some(table[usize::from(turn.entry)].0)
    }

    /// Notes how much was sent on the VL that [`Arbiter::next`] gave.
    pub(super) fn sent(&mut self, tables: &Arbitration, bytes: u16) {
        // 0 is one packet (IBA 14.2.5.6, VLHighLimit).
        let limit = (i64::from(tables.limit_of_high) * 4096).max(1);
        if self.by_high {
            self.high.left -= i64::from(bytes);
            self.high_left = self.high_left.min(limit) - i64::from(bytes);
        } else {
            self.low.left -= i64::from(bytes);
            self.high_left = limit;
        }
    }
}

impl Turn {
    fn peek(self, table: &[(u8, u8)], ready: u16) -> Option<Self> {
        let is_ready = |entry: usize| table.get(entry).is_some_and(|&(vl, weight)| weight > 0 && vl < 15 && ready >> vl & 1 == 1);
        if self.left > 0 && is_ready(usize::from(self.entry)) {
            return Some(self);
        }
        let entry = (1..=table.len()).map(|step| (usize::from(self.entry) + step) % table.len()).find(|&entry| is_ready(entry))?;
        Some(Self { entry: entry as u8, left: i64::from(table[entry].1) * 64 })
    }
}
