use super::*;
use crate::transport::Address;
use crate::wire::{AttributeId, Class, Path, Status};
use proptest::prelude::*;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn limits(window: usize, per_node: usize) -> Limits {
    Limits { window, window_max: window, per_node, timeout: Duration::from_millis(100), retries: 2 }
}

fn get(modifier: u32) -> Envelope {
    Envelope { address: Address::Directed, mad: Mad::directed(&Path::local(), Method::GET, AttributeId(0x15), modifier) }
}

fn answer(request: &Envelope) -> Envelope {
    let mut answer = request.clone();
    answer.mad.set_method(Method::GET_RESP);
    // As the kernel and ibsim do, put something else into the upper half.
    answer.mad.set_transaction(answer.mad.transaction() & 0xffff_ffff | 0x1234_5678 << 32);
    answer
}

fn received(request: &Envelope) -> Delivery {
    Delivery::Received(answer(request))
}

fn transmit_all(exchange: &mut Exchange, now: Time) -> Vec<Envelope> {
    std::iter::from_fn(|| exchange.poll_transmit(now)).collect()
}

#[test]
fn set_is_answered_by_get_resp() {
    let mut exchange = Exchange::new(Limits::default());
    let mut request = get(7);
    request.mad.set_method(Method::SET);
    let id = exchange.ask(1, request);
    let sent = exchange.poll_transmit(Time(0)).unwrap();
    exchange.handle(Time(1), received(&sent));
    assert_eq!(exchange.poll_event(), Some(Event::Answer { id, mad: answer(&sent).mad }));
    assert_eq!((exchange.outstanding(), exchange.on_wire(), exchange.poll_timeout()), (0, 0, None));
}

#[test]
fn silence_ends_after_all_attempts_and_the_answer_to_an_early_one_counts() {
    let mut exchange = Exchange::new(limits(4, 4));
    let id = exchange.ask(1, get(0));
    let first = exchange.poll_transmit(Time(0)).unwrap();
    for at in [100, 200] {
        assert_eq!(exchange.poll_timeout(), Some(Time(at * MS)));
        exchange.handle_timeout(Time(at * MS - 1));
        assert_eq!(exchange.poll_transmit(Time(at * MS - 1)), None, "not before its time");
        exchange.handle_timeout(Time(at * MS));
        assert_eq!(exchange.poll_transmit(Time(at * MS)), Some(first.clone()), "the same transaction id");
    }
    exchange.handle_timeout(Time(300 * MS));
    assert_eq!(exchange.poll_event(), Some(Event::Failed { id, why: Failure::TimedOut { attempts: 3 }, request: first.clone() }));
    exchange.handle(Time(301 * MS), received(&first));
    assert_eq!((exchange.poll_event(), exchange.counters().late), (None, 1));

    let id = exchange.ask(1, get(0));
    let sent = exchange.poll_transmit(Time(400 * MS)).unwrap();
    exchange.handle_timeout(Time(500 * MS));
    exchange.handle(Time(501 * MS), received(&sent));
    assert_eq!(exchange.poll_event(), Some(Event::Answer { id, mad: answer(&sent).mad }), "before the repetition went out");
    assert_eq!((exchange.poll_transmit(Time(502 * MS)), exchange.outstanding()), (None, 0));
    exchange.handle(Time(503 * MS), received(&sent));
    assert_eq!((exchange.poll_event(), exchange.counters().duplicates), (None, 1));
}

#[test]
fn undeliverable_is_repeated_only_when_silence_would_have_been() {
    let mut exchange = Exchange::new(limits(1, 1));
    let id = exchange.ask(1, get(0));
    exchange.ask(2, get(0));
    let mut sent = exchange.poll_transmit(Time(0)).unwrap();
    exchange.handle(Time(MS), Delivery::Undeliverable(sent.clone()));
    let other = exchange.poll_transmit(Time(MS)).expect("the pause does not hold up other nodes");
    exchange.handle(Time(2 * MS), received(&other));
    assert!(matches!(exchange.poll_event(), Some(Event::Answer { .. })));
    for at in [100, 200] {
        assert_eq!(exchange.poll_transmit(Time((at - 1) * MS)), None);
        assert_eq!(exchange.poll_timeout(), Some(Time(at * MS)));
        exchange.handle_timeout(Time(at * MS));
        sent = exchange.poll_transmit(Time(at * MS)).unwrap();
        exchange.handle(Time(at * MS), Delivery::Undeliverable(sent.clone()));
    }
    assert_eq!(exchange.poll_event(), Some(Event::Failed { id, why: Failure::Undeliverable { attempts: 3 }, request: sent }));
    assert_eq!((exchange.outstanding(), exchange.on_wire(), exchange.poll_timeout()), (0, 0, None));
}

#[test]
fn who_is_busy_is_asked_again_later() {
    let busy = |request: &Envelope| {
        let mut answer = answer(request);
        // On its way back, a directed-route answer has the direction bit beside the status.
        answer.mad.set_status(Status::BUSY);
        answer.mad.set_returning(true);
        Delivery::Received(answer)
    };
    let mut exchange = Exchange::new(limits(1, 1));
    let id = exchange.ask(1, get(0));
    let mut sent = exchange.poll_transmit(Time(0)).unwrap();
    exchange.handle(Time(MS), busy(&sent));
    assert_eq!((exchange.poll_event(), exchange.poll_transmit(Time(99 * MS))), (None, None));
    exchange.handle_timeout(Time(100 * MS));
    sent = exchange.poll_transmit(Time(100 * MS)).unwrap();
    exchange.handle(Time(101 * MS), received(&sent));
    assert!(matches!(exchange.poll_event(), Some(Event::Answer { id: answered, .. }) if answered == id));

    // Always busy is a failure, but no silence: what is queued for the node is still asked.
    let id = exchange.ask(1, get(1));
    exchange.ask(1, get(2));
    for attempt in 0..3_u64 {
        let now = Time((200 + attempt * 100) * MS);
        exchange.handle_timeout(now);
        sent = exchange.poll_transmit(now).unwrap();
        exchange.handle(now, busy(&sent));
    }
    assert_eq!(exchange.poll_event(), Some(Event::Failed { id, why: Failure::Busy { attempts: 3 }, request: sent }));
    assert_eq!((exchange.outstanding(), exchange.counters().busy), (1, 4));
}

#[test]
fn an_answer_that_finds_no_way_back_ends_the_attempt() {
    let mut exchange = Exchange::new(Limits { retries: 0, ..limits(1, 1) });
    let id = exchange.ask(1, get(0));
    let sent = exchange.poll_transmit(Time(0)).unwrap();
    exchange.handle(Time(MS), Delivery::Undeliverable(get(0)));
    assert_eq!(exchange.poll_event(), None, "of another transaction");
    exchange.handle(Time(MS), Delivery::Undeliverable(answer(&sent)));
    assert_eq!(exchange.poll_event(), Some(Event::Failed { id, why: Failure::Undeliverable { attempts: 1 }, request: sent }));
}

#[test]
fn a_silent_node_does_not_hold_up_the_others() {
    let mut exchange = Exchange::new(limits(8, 2));
    for i in 0..100 {
        exchange.ask(1, get(i));
    }
    for i in 0..4 {
        exchange.ask(2, get(1000 + i));
    }
    let mut sent = transmit_all(&mut exchange, Time(0));
    let modifiers: Vec<u32> = sent.iter().map(|envelope| envelope.mad.modifier()).collect();
    assert_eq!(modifiers, [0, 1000, 1, 1001], "in turns, two for each node");
    let mut answered = 0;
    while let Some(envelope) = sent.iter().position(|envelope| envelope.mad.modifier() >= 1000).map(|at| sent.remove(at)) {
        exchange.handle(Time(1), received(&envelope));
        answered += 1;
        sent.extend(transmit_all(&mut exchange, Time(1)));
    }
    assert_eq!((answered, sent.len(), exchange.on_wire()), (4, 2, 2));
}

#[test]
fn the_windows_follow_losses_and_answers() {
    let limits = Limits { window: 16, window_max: 96, per_node: 4, timeout: Duration::from_millis(100), retries: 0 };
    let mut exchange = Exchange::new(limits);
    for i in 0..1000 {
        exchange.ask(u64::from(i) % 100, get(i));
    }
    let sent = transmit_all(&mut exchange, Time(0));
    assert_eq!(sent.len(), 16);
    // A window of answers makes it 17; all 17 lost at once make it 8, not less.
    for envelope in &sent {
        exchange.handle(Time(MS), received(envelope));
    }
    assert_eq!(transmit_all(&mut exchange, Time(MS)).len(), 17);
    exchange.handle_timeout(Time(101 * MS));
    assert_eq!(transmit_all(&mut exchange, Time(101 * MS)).len(), 8);
    exchange.handle_timeout(Time(201 * MS));
    let mut sent = transmit_all(&mut exchange, Time(201 * MS));
    assert_eq!(sent.len(), 8, "nobody answers: that is no congestion, and a narrower window would not help");
    for (period, expected) in (3..).zip([4, 2, 1, 2]) {
        exchange.handle(Time((period * 100 - 50) * MS), received(&sent[0]));
        exchange.handle_timeout(Time((period * 100 + 1) * MS));
        sent = transmit_all(&mut exchange, Time((period * 100 + 1) * MS));
        assert_eq!(sent.len(), expected, "one answered, the others lost: each period cuts, but one that is answered makes two");
    }
}

#[test]
fn what_is_queued_for_a_silent_node_fails_with_the_first_that_runs_out() {
    let mut exchange = Exchange::new(Limits { retries: 0, ..limits(8, 2) });
    for i in 0..100 {
        exchange.ask(1, get(i));
    }
    assert_eq!(transmit_all(&mut exchange, Time(0)).len(), 2);
    exchange.handle_timeout(Time::ZERO + limits(8, 2).timeout);
    let mut failures: Vec<_> = std::iter::from_fn(|| exchange.poll_event())
        .map(|event| if let Event::Failed { why, .. } = event { why } else { panic!("{event:?}") })
        .collect();
    failures.sort_by_key(|&why| why == Failure::Silent);
    let (sent, unsent) = failures.split_at(2);
    assert_eq!(sent, [Failure::TimedOut { attempts: 1 }; 2]);
    assert_eq!(unsent, [Failure::Silent; 98]);
    assert_eq!((exchange.outstanding(), exchange.on_wire(), exchange.poll_timeout()), (0, 0, None));
    // One that answers some keeps its queue.
    for i in 0..10 {
        exchange.ask(2, get(i));
    }
    let sent = transmit_all(&mut exchange, Time(MS));
    exchange.handle(Time(MS), received(&sent[1]));
    exchange.handle_timeout(Time(MS) + limits(8, 2).timeout);
    assert_eq!(exchange.outstanding(), 8, "one answered, one ran out");
}

#[test]
fn the_window_grows_to_its_bound() {
    let mut exchange = Exchange::new(Limits::default());
    let mut most = 0;
    for i in 0..20_000 {
        exchange.ask(u64::from(i) % 200, get(i));
    }
    let mut sent = transmit_all(&mut exchange, Time(0));
    while !sent.is_empty() {
        most = most.max(exchange.on_wire());
        for envelope in std::mem::take(&mut sent) {
            exchange.handle(Time(1), received(&envelope));
        }
        sent = transmit_all(&mut exchange, Time(1));
    }
    assert_eq!((most, exchange.counters().answered), (96, 20_000));
}

#[test]
fn what_does_not_fit_the_question_is_no_answer() {
    let mut exchange = Exchange::new(limits(4, 4));
    exchange.ask(1, get(5));
    let sent = exchange.poll_transmit(Time(0)).unwrap();
    let mut wrong: Vec<Envelope> = (0..4).map(|_| answer(&sent)).collect();
    wrong[0].mad.0[1] = Class::SUBN_LID.0;
    wrong[1].mad.0[17] = 0x14;
    wrong[2].mad.0[23] = 6;
    wrong[3].mad.set_method(Method(0x86));
    let mut unknown = answer(&sent);
    unknown.mad.set_transaction(77);
    for envelope in wrong.into_iter().chain([unknown]) {
        exchange.handle(Time(1), Delivery::Received(envelope));
    }
    assert_eq!((exchange.poll_event(), exchange.counters().mismatched, exchange.outstanding()), (None, 5, 1));
    exchange.handle(Time(1), received(&sent));
    assert!(matches!(exchange.poll_event(), Some(Event::Answer { .. })));
}

#[test]
fn requests_of_others_come_through_and_are_told_first() {
    let mut exchange = Exchange::new(limits(1, 1));
    let mut trap = get(0);
    trap.mad.set_method(Method::TRAP);
    exchange.handle(Time(0), Delivery::Received(trap.clone()));
    assert_eq!(exchange.poll_event(), Some(Event::Unsolicited(trap.clone())));
    exchange.ask(1, get(0));
    exchange.ask(1, get(1));
    trap.mad.set_method(Method::TRAP_REPRESS);
    exchange.tell(trap.clone());
    exchange.tell(trap.clone());
    let sent = transmit_all(&mut exchange, Time(0));
    assert_eq!((sent.len(), &sent[..2]), (3, &[trap.clone(), trap][..]));
}

/// What a hostile network does. Numbers choose among what is on the wire.
#[derive(Clone, Debug)]
enum Step {
    Ask(u64),
    Answer(usize),
    Forge(usize, usize, u8),
    Undeliverable(usize),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5u64).prop_map(Step::Ask),
        6 => (0..1000usize).prop_map(Step::Answer),
        2 => (0..1000usize, 0..24usize, 1..=255u8).prop_map(|(which, byte, change)| Step::Forge(which, byte, change)),
        2 => (0..1000usize).prop_map(Step::Undeliverable),
        2 => (1..150u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..200)
}

/// The rules, told as simply as possible: when each request was last sent, how often, and whether it ended.
#[derive(Default)]
struct Reference {
    now: Time,
    /// Every datagram that was ever sent; answers may come to any of them at any time, more than once.
    wire: Vec<Envelope>,
    requests: BTreeMap<RequestId, Asked>,
}

struct Asked {
    node: u64,
    sent: Vec<Time>,
    reported: bool,
    answerable: bool,
    ended: bool,
}

impl Reference {
    fn drain(&mut self, exchange: &mut Exchange, limits: &Limits) -> Result<(), TestCaseError> {
        while let Some(envelope) = exchange.poll_transmit(self.now) {
            let asked = self.requests.get_mut(&RequestId(envelope.mad.transaction() as u32)).expect("only what was asked");
            prop_assert!(!asked.ended, "nothing is sent after its end");
            prop_assert!(asked.sent.last().is_none_or(|&last| self.now >= last + limits.timeout), "not before the attempt ended");
            asked.sent.push(self.now);
            asked.reported = false;
            prop_assert!(asked.sent.len() <= limits.retries as usize + 1);
            self.wire.push(envelope);
        }
        let mut ran_out = None;
        while let Some(event) = exchange.poll_event() {
            match event {
                Event::Answer { id, .. } => {
                    let asked = self.requests.get_mut(&id).expect("only what was asked");
                    prop_assert!(asked.answerable && !asked.ended);
                    asked.ended = true;
                }
                Event::Failed { id, why, .. } => {
                    let asked = self.requests.get_mut(&id).expect("only what was asked");
                    prop_assert!(!asked.ended && !asked.answerable);
                    if why == Failure::Silent {
                        prop_assert!(asked.sent.is_empty());
                        prop_assert_eq!(Some(asked.node), ran_out, "only after another request of this node");
                    } else {
                        prop_assert_eq!(asked.sent.len(), limits.retries as usize + 1);
                        ran_out = Some(asked.node);
                    }
                    asked.ended = true;
                }
                Event::Unsolicited(envelope) => prop_assert!(!envelope.mad.method().is_response()),
            }
        }
        let on_wire =
            |asked: &&Asked| !asked.ended && !asked.reported && asked.sent.last().is_some_and(|&last| self.now < last + limits.timeout);
        prop_assert!(self.requests.values().filter(on_wire).count() <= limits.window_max);
        for node in 0..5 {
            let busy = self.requests.values().filter(|asked| asked.node == node).filter(on_wire).count();
            prop_assert!(busy <= limits.per_node);
        }
        prop_assert_eq!(exchange.outstanding(), self.requests.values().filter(|asked| !asked.ended).count());
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_request_ends_once_whatever_the_network_does(
        steps in steps(), window in 1..8usize, window_max in 1..12usize, per_node in 1..4usize, retries in 0..3u32,
    ) {
        let limits = Limits { window, window_max, per_node, timeout: Duration::from_millis(100), retries };
        let mut exchange = Exchange::new(limits);
        let mut reference = Reference::default();
        for (number, step) in steps.into_iter().enumerate() {
            let pick = |which: usize| reference.wire.get(which % reference.wire.len().max(1)).cloned();
            match step {
                Step::Ask(node) => {
                    let id = exchange.ask(node, get(number as u32));
                    let asked = Asked { node, sent: Vec::new(), reported: false, answerable: false, ended: false };
                    prop_assert!(reference.requests.insert(id, asked).is_none());
                }
                Step::Answer(which) => {
                    if let Some(envelope) = pick(which) {
                        exchange.handle(reference.now, received(&envelope));
                        let asked = reference.requests.get_mut(&RequestId(envelope.mad.transaction() as u32)).expect("was sent");
                        asked.answerable = !asked.ended;
                    }
                }
                Step::Forge(which, byte, change) => {
                    if let Some(envelope) = pick(which) {
                        let mut forged = answer(&envelope);
                        forged.mad.0[byte] ^= change;
                        // Only the method, the class, the low transaction id, the attribute and the modifier tell.
                        let harmless = matches!(byte, 0 | 2 | 4..=11 | 18 | 19);
                        exchange.handle(reference.now, Delivery::Received(forged));
                        let busy = byte == 5 && change & 1 == 1;
                        if harmless && busy {
                            let asked = reference.requests.get_mut(&RequestId(envelope.mad.transaction() as u32)).expect("was sent");
                            asked.reported = true;
                        } else if harmless {
                            let asked = reference.requests.get_mut(&RequestId(envelope.mad.transaction() as u32)).expect("was sent");
                            asked.answerable = !asked.ended;
                        }
                    }
                }
                Step::Undeliverable(which) => {
                    if let Some(envelope) = pick(which) {
                        let asked = reference.requests.get_mut(&RequestId(envelope.mad.transaction() as u32)).expect("was sent");
                        asked.reported = true;
                        exchange.handle(reference.now, Delivery::Undeliverable(envelope));
                    }
                }
                Step::Wait(ms) => {
                    reference.now = reference.now + Duration::from_millis(ms);
                    exchange.handle_timeout(reference.now);
                }
            }
            reference.drain(&mut exchange, &limits)?;
        }
        // Silence from here on: everything ends, in no more attempts than are allowed.
        let mut rounds = 0;
        while let Some(at) = exchange.poll_timeout() {
            prop_assert!(at >= reference.now);
            rounds += 1;
            prop_assert!(rounds <= 200 * (1 + retries), "the end comes");
            reference.now = at;
            exchange.handle_timeout(at);
            reference.drain(&mut exchange, &limits)?;
        }
        prop_assert!(reference.requests.values().all(|asked| asked.ended));
        prop_assert_eq!((exchange.outstanding(), exchange.on_wire()), (0, 0));
        prop_assert!(exchange.nodes.is_empty() && exchange.sent.is_empty(), "nothing stays behind");
    }
}
