use crate::events::CableFault;
use crate::random::Random;
use crate::travel::LostWhy;
use heddle_fabric::{LinkSpeed, LinkWidth};
use std::time::Duration;

/// Packets that are to be overtaken are held back for up to so long.
const REORDERED: u64 = 1_000_000;

/// All that a cable does wrong at present, beside being cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CableFaults {
    /// The most lanes that it trains with.
    pub(crate) width: Option<LinkWidth>,
    /// The fastest that it trains with.
    pub(crate) speed: Option<LinkSpeed>,
    loss: u8,
    corrupt: u8,
    delay: Duration,
    reorder: u8,
    repeat: u8,
}

/// What faulty cables do to a packet that they do not lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// How much later it arrives than it should.
    pub(crate) later: Duration,
    /// How many times it arrives.
    pub(crate) copies: u32,
}

impl Default for Passage {
    /// Nothing.
    fn default() -> Self {
        Self { later: Duration::ZERO, copies: 1 }
    }
}

/// A packet that comes more often is one that comes so often.
const COPIES_MAX: u32 = 64;

impl CableFaults {
    pub(crate) fn add(&mut self, fault: CableFault) {
        match fault {
            CableFault::Width(width) => self.width = Some(width),
            CableFault::Speed(speed) => self.speed = Some(speed),
            CableFault::Loss(percent) => self.loss = percent,
            CableFault::Corrupt(percent) => self.corrupt = percent,
            CableFault::Delay(delay) => self.delay = delay,
            CableFault::Reorder(percent) => self.reorder = percent,
            CableFault::Repeat(percent) => self.repeat = percent,
        }
    }

    /// What was added, as it would be added again.
    pub(crate) fn list(&self) -> Vec<CableFault> {
        let mut all = Vec::new();
        all.extend(self.width.map(CableFault::Width));
        all.extend(self.speed.map(CableFault::Speed));
        all.extend((self.loss > 0).then_some(CableFault::Loss(self.loss)));
        all.extend((self.corrupt > 0).then_some(CableFault::Corrupt(self.corrupt)));
        all.extend((!self.delay.is_zero()).then_some(CableFault::Delay(self.delay)));
        all.extend((self.reorder > 0).then_some(CableFault::Reorder(self.reorder)));
        all.extend((self.repeat > 0).then_some(CableFault::Repeat(self.repeat)));
        all
    }

    /// Whether the link would be wider or faster without them.
    pub(crate) fn slows_down(&self) -> bool {
        self.width.is_some() || self.speed.is_some()
    }

    /// What becomes of a packet that has come so far: whether it is lost, and why.
    pub(crate) fn pass(&self, passage: &mut Passage, random: &mut Random) -> Result<(), LostWhy> {
        if random.percent(self.loss) {
            return Err(LostWhy::Cable);
        }
        if random.percent(self.corrupt) {
            return Err(LostWhy::Damaged);
        }
        passage.later += self.delay;
        if random.percent(self.reorder) {
            passage.later += Duration::from_nanos(random.within(1..REORDERED + 1));
        }
        if random.percent(self.repeat) {
            passage.copies = (passage.copies * 2).min(COPIES_MAX);
        }
        Ok(())
    }
}
