//! Which cable takes the routes whose own cable up from a switch is missing, or leads nowhere.
//!
//! All other routes stay where they are. In a healthy tree, hosts that send to consecutive destinations use each cable once; with a route
//! moved there, twice. The choice keeps moved routes apart, so that it is not three times.

use heddle_fabric::NO_PORT;
use std::cmp::Reverse;

/// A route that cannot take its own place.
#[derive(Clone, Copy)]
struct Moved {
    lid: u32,
    number: u32,
    /// The place that it cannot take.
    place: u32,
    /// Where its row begins in [`Gaps::open`].
    open: u32,
}

/// The routes of one switch that have to be moved, and what is open to them.
#[derive(Default)]
pub(crate) struct Gaps {
    moved: Vec<Moved>,
    /// Rows of places, with whether each can be used.
    open: Vec<bool>,
    /// Place and number of routes that are at another place than their number says, at every switch.
    guests: Vec<(u32, u32)>,
}

impl Gaps {
    /// Notes which places are open to the routes that follow.
    pub(crate) fn begin(&mut self, places: &[u8], is_open: &[bool; 256]) {
        self.open.extend(places.iter().map(|&port| port != NO_PORT && is_open[usize::from(port)]));
    }

    /// Notes a route to be moved, among the `places` places noted last.
    pub(crate) fn push(&mut self, lid: u32, number: u32, place: usize, places: usize) {
        self.moved.push(Moved { lid, number, place: place as u32, open: (self.open.len() - places) as u32 });
    }

    /// Notes a route that is at a place that its number does not say.
    pub(crate) fn guest(&mut self, number: u32, place: usize) {
        self.guests.push((place as u32, number));
    }

    /// Moves them. `turn` is the switch's number among its equals, `period` the distance of numbers after which the places repeat.
    ///
    /// Each takes the place whose nearest guest is farthest away. Of those far enough, equals that follow one another take turns, since
    /// they send to neighbouring destinations at the same time.
    pub(crate) fn fill(&mut self, row: &mut [u8], places: &[u8], turn: u32, period: u32) {
        self.moved.sort_unstable_by_key(|moved| moved.number);
        self.guests.sort_unstable();
        let count = places.len() as u32;
        let mut last: Vec<Option<u32>> = vec![None; places.len()];
        for moved in &self.moved {
            let distance = |place: u32| {
                let after = self.guests.partition_point(|&guest| guest < (place, moved.number));
                let near = [self.guests.get(after), after.checked_sub(1).and_then(|before| self.guests.get(before))];
                let near = near.into_iter().flatten().filter(|guest| guest.0 == place).map(|guest| guest.1);
                near.chain(last[place as usize]).map(|guest| guest.abs_diff(moved.number)).min().unwrap_or(u32::MAX)
            };
            let open = (0..count).filter(|place| self.open[(moved.open + place) as usize]);
            let best = open.max_by_key(|&place| {
                let distance = distance(place);
                let is_turn = place % 2 == turn % 2;
                (distance.min(period), is_turn, distance, Reverse((place + count - moved.place) % count))
            });
            if let Some(place) = best {
                last[place as usize] = Some(moved.number);
                row[moved.lid as usize] = places[place as usize];
            }
        }
    }
}
