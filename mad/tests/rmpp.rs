//! A sender and a receiver of RMPP over a network that loses, repeats and reorders.
#![forbid(unsafe_code)]

use heddle_mad::Time;
use heddle_mad::rmpp::{ACK_TIMEOUT, HEADER_END, Header, Kind, LINGER, Receiver, Sender, Stopped, TRANSFER_TIMEOUT, WINDOW, data_offset};
use heddle_mad::wire::{AttributeId, Class, Mad, Method};
use proptest::prelude::*;
use std::time::Duration;

const GET_TABLE_RESP: Method = Method(0x92);
const ROOM: usize = 1 << 30;
const DELAY: Duration = Duration::from_millis(1);

fn message(class: Class, data: usize) -> Vec<u8> {
    let mad = Mad::request(class, 2, GET_TABLE_RESP, AttributeId(0x35), 0);
    let mut message = mad.0[..data_offset(class)].to_vec();
    message.extend((0..data).map(|at| (at * 7 + at / 251) as u8));
    message
}

/// What the network does with each packet in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    /// After packets that were sent later.
    Late,
}

/// Lets both talk until the sender has a result. The number of packets that were sent both ways.
fn transfer(sender: &mut Sender, fates: &[Fate]) -> (Option<Receiver>, usize) {
    let mut receiver: Option<Receiver> = None;
    let mut now = Time::ZERO;
    // When, in which order, whether to the receiver, and what.
    let mut wire: Vec<(Time, usize, bool, Mad)> = Vec::new();
    let mut sent = 0;
    loop {
        let mut post = |wire: &mut Vec<_>, to_receiver, mad: Mad| {
            let fate = if fates.is_empty() { Fate::Arrives } else { fates[sent % fates.len()] };
            sent += 1;
            match fate {
                Fate::Lost => {}
                Fate::Arrives => wire.push((now + DELAY, sent, to_receiver, mad)),
                Fate::Twice => wire.extend([(now + DELAY, sent, to_receiver, mad), (now + DELAY * 3, sent, to_receiver, mad)]),
                Fate::Late => wire.push((now + DELAY * 4, sent, to_receiver, mad)),
            }
        };
        while let Some(mad) = sender.poll_transmit(now) {
            post(&mut wire, true, mad);
        }
        while let Some(mad) = receiver.as_mut().and_then(Receiver::poll_transmit) {
            post(&mut wire, false, mad);
        }
        wire.sort_by_key(|packet| (packet.0, packet.1));
        let arrives = wire.first().map(|packet| packet.0);
        let timers = [sender.poll_timeout(), receiver.as_ref().and_then(Receiver::poll_timeout)];
        let ended = sender.result().is_some() && wire.is_empty();
        if ended {
            return (receiver, sent);
        }
        let next = timers.into_iter().flatten().chain(arrives).min().expect("something is to happen");
        now = now.max(next);
        assert!(now < Time::ZERO + Duration::from_secs(100_000), "no end");
        sender.handle_timeout(now);
        if let Some(receiver) = &mut receiver {
            receiver.handle_timeout(now);
        }
        if receiver.as_ref().is_some_and(|receiver| receiver.poll_timeout().is_none()) && sender.result().is_some() {
            return (receiver, sent);
        }
        while wire.first().is_some_and(|packet| packet.0 <= now) {
            let (_, _, to_receiver, mad) = wire.remove(0);
            match (&mut receiver, to_receiver) {
                (_, false) => sender.handle(now, &mad),
                (Some(receiver), true) => receiver.handle(now, &mad),
                (None, true) if Header::of(&mad).first => receiver = Some(Receiver::new(now, &mad, WINDOW, ROOM)),
                (None, true) => {}
            }
        }
    }
}

fn assert_same(received: &[u8], sent: &[u8]) {
    assert_eq!(received.len(), sent.len());
    assert_eq!(received[..24], sent[..24]);
    assert!(received[HEADER_END..] == sent[HEADER_END..], "the bytes are not those sent");
}

/// 200 bytes of data a segment in subnet administration, and the lengths told in the first and the last (IBA 13.6.2): 20 bytes of headers
/// count in each segment. By hand: 450 bytes are 200 + 200 + 50.
#[test]
fn segments_as_the_specification_says() {
    let mut sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 450), None, 0);
    let first = Header::of(&sender.poll_transmit(Time::ZERO).unwrap());
    assert_eq!((first.segment, first.first, first.last, first.length_or_window), (1, true, false, 3 * 20 + 450));
    assert_eq!((first.kind, first.version, first.active, first.status), (Kind::Data as u8, 1, true, 0));
    assert!(sender.poll_transmit(Time::ZERO).is_none(), "the first goes alone");
    let mad = sender_ack(1, 65);
    sender.handle(Time::ZERO, &mad);
    let second = Header::of(&sender.poll_transmit(Time::ZERO).unwrap());
    assert_eq!((second.segment, second.first, second.last, second.length_or_window), (2, false, false, 0));
    let third = Header::of(&sender.poll_transmit(Time::ZERO).unwrap());
    assert_eq!((third.segment, third.first, third.last, third.length_or_window), (3, false, true, 20 + 50));
    assert!(sender.poll_transmit(Time::ZERO).is_none());
    sender.handle(Time::ZERO, &sender_ack(3, 65));
    assert_eq!((sender.result(), sender.poll_timeout()), (Some(Ok(())), None));
}

fn sender_ack(segment: u32, window: u32) -> Mad {
    answer(Kind::Ack as u8, 0, segment, window)
}

fn answer(kind: u8, status: u8, segment: u32, window: u32) -> Mad {
    let mut mad = Mad::request(Class::SUBN_ADM, 2, Method(0x12), AttributeId(0x35), 0);
    let header = Header { version: 1, kind, active: true, status, segment, length_or_window: window, ..Header::default() };
    header.write(&mut mad);
    mad
}

/// The kernel acknowledges the first segment, then every 64th, then the last one.
#[test]
fn acknowledgements_as_the_kernel_sends_them() {
    let mut sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 200 * 130), None, 0);
    let mut receiver = Receiver::new(Time::ZERO, &sender.poll_transmit(Time::ZERO).unwrap(), WINDOW, ROOM);
    let mut acknowledgements = Vec::new();
    loop {
        while let Some(mad) = receiver.poll_transmit() {
            let header = Header::of(&mad);
            assert_eq!((mad.method(), header.kind), (Method(0x12), Kind::Ack as u8));
            acknowledgements.push((header.segment, header.length_or_window));
            sender.handle(Time::ZERO, &mad);
        }
        match sender.poll_transmit(Time::ZERO) {
            Some(mad) => receiver.handle(Time::ZERO, &mad),
            None => break,
        }
    }
    assert_eq!(acknowledgements, [(1, 65), (65, 129), (129, 193), (130, 193)]);
    assert_eq!(sender.result(), Some(Ok(())));
}

#[test]
fn lengths_at_the_edges_and_five_megabytes() {
    for class in [Class::SUBN_ADM, Class(0x06), Class(0x32)] {
        let room = 256 - data_offset(class);
        for data in [0, 1, room - 1, room, room + 1, 64 * room, 65 * room, 65 * room + 1, 5_400_000] {
            let sent = message(class, data);
            let mut sender = Sender::new(Time::ZERO, &sent, None, 0);
            let (receiver, _) = transfer(&mut sender, &[]);
            assert_eq!(sender.result(), Some(Ok(())), "{class:?} {data}");
            assert_same(&receiver.unwrap().take_message().unwrap(), &sent);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Enough tries and few enough losses: what arrives is what was sent.
    #[test]
    fn losses_repetitions_and_reordering_do_no_harm(
        data in 0_usize..60_000,
        fates in prop::collection::vec(
            prop_oneof![6 => Just(Fate::Arrives), 1 => Just(Fate::Lost), 1 => Just(Fate::Twice), 1 => Just(Fate::Late)], 1..400),
    ) {
        let sent = message(Class::SUBN_ADM, data);
        let mut sender = Sender::new(Time::ZERO, &sent, None, 1_000);
        let (receiver, _) = transfer(&mut sender, &fates);
        let message = receiver.and_then(|mut receiver| receiver.take_message());
        if let Some(message) = &message {
            assert_same(message, &sent);
        }
        if sender.result() == Some(Ok(())) {
            prop_assert!(message.is_some(), "acknowledged, but not whole");
        } else {
            // A cycle of fates in which some packet never gets through.
            prop_assert!(fates.contains(&Fate::Lost));
        }
    }

    #[test]
    fn any_segments_do_no_harm(mads in prop::collection::vec((any::<[u8; 12]>(), any::<u8>()), 1..200)) {
        let mut sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 20_000), None, 3);
        let mut receiver: Option<Receiver> = None;
        for (header, kind) in mads {
            let mut mad = Mad::request(Class::SUBN_ADM, 2, GET_TABLE_RESP, AttributeId(0x35), 0);
            mad.0[24..36].copy_from_slice(&header);
            // Mostly the right version, and small numbers.
            mad.0[24] = kind >> 7 ^ 1;
            mad.0[25] = kind & 7;
            mad.0[28..31].fill(0);
            sender.handle(Time::ZERO, &mad);
            match &mut receiver {
                Some(receiver) => receiver.handle(Time::ZERO, &mad),
                None => receiver = Some(Receiver::new(Time::ZERO, &mad, WINDOW, ROOM)),
            }
            while sender.poll_transmit(Time::ZERO).is_some() {}
            while receiver.as_mut().unwrap().poll_transmit().is_some() {}
            if receiver.as_ref().unwrap().stopped().is_some() {
                receiver = None;
            }
        }
    }
}

#[test]
fn a_lost_segment_is_sent_again_after_two_seconds() {
    let mut fates = vec![Fate::Arrives; 100];
    fates[5] = Fate::Lost;
    let sent = message(Class::SUBN_ADM, 200 * 10);
    let mut sender = Sender::new(Time::ZERO, &sent, None, 1);
    let (receiver, packets) = transfer(&mut sender, &fates);
    assert_eq!(sender.result(), Some(Ok(())));
    assert_same(&receiver.unwrap().take_message().unwrap(), &sent);
    // 1 and its acknowledgement, 2 to 10 with one lost, 2 to 10 again, and acknowledgements of whatever came twice.
    assert!((21..=30).contains(&packets), "{packets}");
}

#[test]
fn a_receiver_that_is_silent_ends_it_after_all_tries() {
    let mut sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 1000), Some(Duration::from_millis(100)), 2);
    let (receiver, packets) = transfer(&mut sender, &[Fate::Lost]);
    assert_eq!((sender.result(), packets, receiver.is_none()), (Some(Err(Stopped::TOO_MANY_RETRIES)), 3, true));
    // Longer than the kernel waits for an acknowledgement is not waited.
    let sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 0), Some(Duration::from_secs(60)), 0);
    assert_eq!(sender.poll_timeout(), Some(Time::ZERO + ACK_TIMEOUT));
}

#[test]
fn what_ends_a_sender() {
    let cases = [
        (answer(Kind::Stop as u8, 1, 0, 0), Stopped::NO_RESOURCES, None),
        (answer(Kind::Stop as u8, 2, 0, 0), Stopped::BAD_STATUS, Some(124)),
        (answer(Kind::Abort as u8, 118, 0, 0), Stopped::TOO_LONG, None),
        (answer(Kind::Abort as u8, 5, 0, 0), Stopped::BAD_STATUS, Some(124)),
        (answer(Kind::Ack as u8, 0, 1, 0), Stopped::WINDOW_TOO_SMALL, Some(122)),
        (answer(Kind::Ack as u8, 0, 2, 65), Stopped::SEGMENT_TOO_BIG, Some(123)),
        (answer(Kind::Ack as u8, 3, 1, 65), Stopped::BAD_STATUS, Some(124)),
        (answer(9, 0, 1, 65), Stopped::BAD_KIND, Some(121)),
    ];
    for (mad, why, abort) in cases {
        let mut sender = Sender::new(Time::ZERO, &message(Class::SUBN_ADM, 1000), None, 3);
        sender.poll_transmit(Time::ZERO).unwrap();
        sender.handle(Time::ZERO, &mad);
        assert_eq!(sender.result(), Some(Err(why)));
        let told = sender.poll_transmit(Time::ZERO).map(|mad| (Header::of(&mad).kind, Header::of(&mad).status));
        assert_eq!(told, abort.map(|status| (Kind::Abort as u8, status)), "{why}");
        assert!(sender.poll_transmit(Time::ZERO).is_none());
    }
}

fn data(segment: u32, first: bool, last: bool, length: u32) -> Mad {
    let mut mad = Mad::request(Class::SUBN_ADM, 2, GET_TABLE_RESP, AttributeId(0x35), 0);
    let header =
        Header { version: 1, kind: Kind::Data as u8, active: true, first, last, segment, length_or_window: length, ..Header::default() };
    header.write(&mut mad);
    mad
}

#[test]
fn what_ends_a_receiver() {
    let first = data(1, true, false, 0xffff_ffff);
    let mut wrong_version = data(2, false, false, 0);
    wrong_version.0[24] = 2;
    let cases = [
        (data(2, true, false, 0), Kind::Abort, Stopped::BAD_SEGMENT),
        (data(0, false, false, 0), Kind::Abort, Stopped::BAD_SEGMENT),
        (wrong_version, Kind::Abort, Stopped::BAD_VERSION),
        (answer(9, 0, 2, 0), Kind::Abort, Stopped::BAD_KIND),
        (data(2, false, true, 220), Kind::Stop, Stopped::NO_RESOURCES), // 56 + 200 + 200 bytes are more than 400.
    ];
    for (mad, kind, why) in cases {
        let mut receiver = Receiver::new(Time::ZERO, &first, WINDOW, 400);
        receiver.poll_transmit().unwrap();
        receiver.handle(Time::ZERO, &mad);
        assert_eq!(receiver.stopped(), Some(why));
        let told = Header::of(&receiver.poll_transmit().unwrap());
        assert_eq!((told.kind, told.status), (kind as u8, why.0));
    }
    let mut receiver = Receiver::new(Time::ZERO, &data(2, false, false, 0), WINDOW, ROOM);
    assert_eq!(Header::of(&receiver.poll_transmit().unwrap()).status, Stopped::BAD_SEGMENT.0);
}

#[test]
fn a_receiver_waits_40_seconds_and_lingers_for_10() {
    let mut receiver = Receiver::new(Time::ZERO, &data(1, true, false, 0), WINDOW, ROOM);
    receiver.poll_transmit().unwrap();
    assert_eq!(receiver.poll_timeout(), Some(Time::ZERO + TRANSFER_TIMEOUT));
    receiver.handle_timeout(Time::ZERO + TRANSFER_TIMEOUT);
    assert_eq!(Header::of(&receiver.poll_transmit().unwrap()).status, Stopped::TOO_LONG.0);

    let mut receiver = Receiver::new(Time::ZERO, &data(1, true, true, 20 + 3), WINDOW, ROOM);
    assert_eq!(receiver.take_message().map(|message| message.len()), Some(56 + 3));
    assert_eq!(receiver.take_message(), None);
    receiver.poll_transmit().unwrap();
    receiver.handle(Time::ZERO, &data(1, true, true, 20 + 3));
    assert_eq!(Header::of(&receiver.poll_transmit().unwrap()).segment, 1, "it did not hear of the acknowledgement");
    assert_eq!(receiver.poll_timeout(), Some(Time::ZERO + LINGER));
    receiver.handle_timeout(Time::ZERO + LINGER);
    assert_eq!(receiver.poll_timeout(), None);
}

/// A gap is never filled: nothing beyond the window is kept.
#[test]
fn memory_is_for_what_arrives() {
    let mut receiver = Receiver::new(Time::ZERO, &data(1, true, false, u32::MAX), WINDOW, ROOM);
    for segment in 3..100_000 {
        receiver.handle(Time::ZERO, &data(segment, false, false, 0));
    }
    // All of it, the segments ahead included, in the words of Debug: a window, not 100,000.
    let size = format!("{receiver:?}").len();
    assert!(size < 64 * 1024, "{size}");
}
