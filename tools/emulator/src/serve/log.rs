//! What is told to whoever runs a server.

use heddle_mad::Time;
use std::time::Duration;

/// Tells lines, and of too many only how many there were.
pub(crate) struct Log {
    tell: Box<dyn FnMut(&str)>,
    period_start: Time,
    told: u32,
    withheld: u64,
}

const PERIOD: Duration = Duration::from_secs(10);
const LINES_MAX: u32 = 20;

impl Log {
    pub(crate) fn new(tell: impl FnMut(&str) + 'static) -> Self {
        Self { tell: Box::new(tell), period_start: Time::ZERO, told: 0, withheld: 0 }
    }

    /// Tells a line, now.
    pub(crate) fn tell(&mut self, now: Time, line: &str) {
        if now.since(self.period_start) >= PERIOD {
            if self.withheld > 0 {
                (self.tell)(&format!("{} more messages were not shown", self.withheld));
            }
            (self.period_start, self.told, self.withheld) = (now, 0, 0);
        }
        if self.told < LINES_MAX {
            self.told += 1;
            (self.tell)(line);
        } else {
            self.withheld += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn of_too_many_lines_only_the_number_is_told() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&seen);
        let mut log = Log::new(move |line| sink.borrow_mut().push(line.to_owned()));
        for line in 0..25 {
            log.tell(Time::ZERO + Duration::from_secs(2), &line.to_string());
        }
        assert_eq!(*seen.borrow(), (0..20).map(|line| line.to_string()).collect::<Vec<_>>());
        log.tell(Time::ZERO + Duration::from_secs(10), "later");
        assert_eq!(seen.borrow()[20..], ["5 more messages were not shown", "later"]);
    }
}
