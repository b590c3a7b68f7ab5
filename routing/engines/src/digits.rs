//! Which place each destination's route takes on each level.

use crate::order::Order;
use crate::slots::Slots;

/// Where a route does not take the place that its number says.
#[derive(Clone, Copy)]
struct Bend {
    /// The plane of the switches that it holds for: those that the route comes by.
    plane: u32,
    place: u32,
}

const NO_BEND: Bend = Bend { plane: u32::MAX, place: 0 };

/// A LID with its number, and the switch that carries it.
#[derive(Clone, Copy)]
pub(crate) struct Destination {
    pub(crate) lid: u32,
    pub(crate) number: u32,
    pub(crate) switch: u32,
}

/// For each LID and level the place of the cable up that its routes take.
///
/// The route that comes down to a destination is built from the destination up: on each level it takes the cable at the place that the
/// number says. Where this cable is missing, it takes the one that the fewest routes come down by. All switches below send it to the same
/// places, so that each cable down carries as few destinations as possible whatever is missing.
pub(crate) struct Digits {
    /// By level and LID; empty where nothing is bent.
    bent: Vec<Vec<Bend>>,
}

impl Digits {
    pub(crate) fn new(slots: &Slots, order: &Order, destinations: &[Destination], lids: usize) -> Self {
        let level = &order.level;
        let levels = level.iter().max().map_or(0, |&top| top as usize + 1);
        let mut bent = vec![Vec::new(); levels];
        // Where each destination's route has come to, and whether it is where its number says.
        let mut at: Vec<(u32, bool)> = destinations.iter().map(|destination| (destination.switch, true)).collect();
        let mut load = vec![0u32; slots.len()];
        for (here, bent) in bent.iter_mut().enumerate() {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for (index, &(switch, is_own)) in at.iter().enumerate().filter(|(_, (switch, _))| level[*switch as usize] as usize == here) {
                let places = slots.of(switch as usize);
                if places.is_empty() {
                    continue;
                }
                let natural = slots.place(here as u32, destinations[index].number, places.len());
                let list = if is_own && slots.peer(switch as usize, natural).is_some() { &mut own } else { &mut others };
                list.push((index, switch as usize, natural));
            }
            for &(index, switch, natural) in &own {
                load[slots.index(switch, natural)] += 1;
                at[index].0 = slots.peer(switch, natural).unwrap_or(at[index].0);
            }
            for (index, switch, natural) in others {
                let count = slots.of(switch).len();
                let start = natural + 1 + (destinations[index].number / slots.divisor(here as u32 + 1)) as usize;
                let is_natural = |place: usize| place == natural;
                let open = (0..count).map(|step| (start + step) % count).filter(|&place| slots.peer(switch, place).is_some());
                let Some(place) = open.min_by_key(|&place| (load[slots.index(switch, place)], !is_natural(place))) else { continue };
                load[slots.index(switch, place)] += 1;
                at[index] = (slots.peer(switch, place).unwrap_or(at[index].0), at[index].1 && is_natural(place));
                if !is_natural(place) {
                    bent.resize(lids, NO_BEND);
                    bent[destinations[index].lid as usize] = Bend { plane: order.plane[switch], place: place as u32 };
                }
            }
        }
        Self { bent }
    }

    /// The place that routes to a LID take at the switches of a level and plane, where it is not what their number says.
    pub(crate) fn bent(&self, level: u32, plane: u32, lid: u32) -> Option<usize> {
        self.bent[level as usize].get(lid as usize).filter(|bend| bend.plane == plane).map(|bend| bend.place as usize)
    }

    /// Whether there is such a LID on this level.
    pub(crate) fn has_bent(&self, level: u32) -> bool {
        !self.bent[level as usize].is_empty()
    }
}
