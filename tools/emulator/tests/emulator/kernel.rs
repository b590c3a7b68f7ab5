//! What the kernel does for programs, call by call: results and errors as `drivers/infiniband/core/{user_mad,mad,smi}.c` of Linux 6.12
//! have them.

use crate::support::*;
use heddle_emulator::kernel::{Errno, FileId, Kernel, Message, Registration};
use heddle_emulator::{ClientId, Event, Timing, World};
use heddle_fabric::PortRef;
use heddle_mad::wire::*;
use std::time::Duration;

/// The programs of all hosts, in the fabric after [`bring_up`].
struct Hosts {
    world: World,
    kernel: Kernel,
}

const GET_TABLE: Method = Method(0x12);
const GET_TABLE_RESP: Method = Method(0x92);
const TIMEOUT_MS: u32 = 100;

impl Hosts {
    fn new() -> Self {
        let mut emulator = emulator();
        bring_up(&mut emulator);
        let mut world = World::new(&fabric());
        std::mem::swap(&mut world, emulator.world_mut());
        world.set_timing(Timing::Instant);
        world.detach(ClientId(1));
        Self { world, kernel: Kernel::default() }
    }

    fn open(&mut self, at: PortRef) -> FileId {
        self.kernel.open(&mut self.world, at).unwrap()
    }

    /// Opens a file with headers of 64 bytes.
    fn open_new(&mut self, at: PortRef) -> FileId {
        let file = self.open(at);
        self.kernel.enable_p_key(file).unwrap();
        file
    }

    fn register(&mut self, file: FileId, registration: Registration) -> Result<u32, Errno> {
        self.kernel.register(&mut self.world, file, registration, false)
    }

    fn write(&mut self, file: FileId, packet: &[u8]) -> Result<(), Errno> {
        let result = self.kernel.write(&mut self.world, file, packet);
        self.hand_over();
        result
    }

    fn hand_over(&mut self) {
        while let Some((client, delivered)) = self.world.poll_delivery() {
            assert!(self.kernel.handle(&mut self.world, client, &delivered));
        }
    }

    /// Lets time pass, from one thing that happens to the next.
    fn pass(&mut self, duration: Duration) {
        let end = self.world.now() + duration;
        loop {
            let next = [self.world.poll_timeout(), self.kernel.poll_timeout()].into_iter().flatten().min();
            let now = next.map_or(end, |next| next.max(self.world.now()).min(end));
            self.world.handle_timeout(now);
            self.kernel.handle_timeout(&mut self.world);
            self.hand_over();
            if now == end {
                return;
            }
        }
    }

    fn read(&mut self, file: FileId) -> Option<Message> {
        self.kernel.read(file)
    }
}

fn directed_agent() -> Registration {
    Registration { class: 0x81, version: 1, ..Registration::default() }
}

fn sa_agent(methods: u128) -> Registration {
    Registration { qpn: 1, class: 3, version: 2, methods, rmpp_version: 1, ..Registration::default() }
}

/// A header of 64 bytes, then the MAD.
fn packet(agent: u32, timeout_ms: u32, retries: u32, dlid: u16, qpn: u32, mad: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[0..4].copy_from_slice(&agent.to_ne_bytes());
    packet[8..12].copy_from_slice(&timeout_ms.to_ne_bytes());
    packet[12..16].copy_from_slice(&retries.to_ne_bytes());
    packet[20..24].copy_from_slice(&qpn.to_be_bytes());
    packet[28..30].copy_from_slice(&dlid.to_be_bytes());
    packet.extend_from_slice(mad);
    packet
}

fn node_info(ports: &[u8], transaction: u64) -> Mad {
    let mut mad = Mad::directed(&path(ports), Method::GET, NodeInfo::ID, 0);
    mad.set_transaction(transaction);
    mad
}

fn ask(agent: u32, timeout_ms: u32, mad: &Mad) -> Vec<u8> {
    packet(agent, timeout_ms, 0, 0xffff, 0, &mad.0)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn an_answer_has_the_header_that_the_kernel_gives_it() {
    let mut hosts = Hosts::new();
    let file = hosts.open_new(at(A, 1));
    let agent = hosts.register(file, directed_agent()).unwrap();
    hosts.write(file, &ask(agent, TIMEOUT_MS, &node_info(&[1], 0xdead_beef_0000_0007))).unwrap();
    let Message { header, data } = hosts.read(file).unwrap();
    assert_eq!((header.len(), data.len()), (64, 256));
    // id, status, timeout, retries, length, queue pair, Q_Key, LID.
    assert_eq!([0, 4, 8, 12, 16].map(|at| word(&header, at)), [agent, 0, 0, 0, 64 + 256]);
    assert_eq!(header[20..32], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]);
    let mad = Mad(data.try_into().unwrap());
    assert_eq!((mad.method(), mad.attribute::<NodeInfo>().node_guid()), (Method::GET_RESP, 0x50));
    assert_eq!(mad.transaction() as u32, 7, "the low half is the program's");
    assert_eq!((mad.transaction() >> 32) as u16, 0, "then the agent's number");
    assert_eq!(hosts.read(file), None);
}

#[test]
fn both_sizes_of_headers_and_when_they_can_be_chosen() {
    let mut hosts = Hosts::new();
    // Without ENABLE_PKEY: 56 bytes.
    let file = hosts.open(at(A, 1));
    let agent = hosts.register(file, directed_agent()).unwrap();
    let mut old = ask(agent, TIMEOUT_MS, &node_info(&[], 1));
    old.drain(56..64);
    hosts.write(file, &old).unwrap();
    let message = hosts.read(file).unwrap();
    assert_eq!((message.header.len(), word(&message.header, 16)), (56, 56 + 256));
    assert_eq!(hosts.kernel.enable_p_key(file), Err(Errno::EINVAL), "too late");

    // REGISTER_AGENT2 as the first registration: 64 bytes.
    let file = hosts.open(at(A, 1));
    let agent = hosts.kernel.register(&mut hosts.world, file, directed_agent(), true).unwrap();
    hosts.write(file, &ask(agent, TIMEOUT_MS, &node_info(&[], 1))).unwrap();
    assert_eq!(hosts.read(file).unwrap().header.len(), 64);

    // As the second one it changes nothing.
    let file = hosts.open(at(A, 1));
    hosts.register(file, directed_agent()).unwrap();
    hosts.kernel.register(&mut hosts.world, file, directed_agent(), true).unwrap();
    hosts.write(file, &old).unwrap();
    assert_eq!(hosts.read(file).unwrap().header.len(), 56);
}

#[test]
fn registrations_that_the_kernel_refuses() {
    let mut hosts = Hosts::new();
    let file = hosts.open_new(at(A, 1));
    let vendor = Registration { qpn: 1, class: 0x32, version: 1, oui: [0, 0x14, 5], ..Registration::default() };
    let refused = [
        ("no such queue pair", Registration { qpn: 2, ..sa_agent(0) }),
        ("subnet management is at queue pair 0", Registration { qpn: 1, ..directed_agent() }),
        ("all else is at queue pair 1", Registration { qpn: 0, ..sa_agent(0) }),
        ("no such RMPP", Registration { rmpp_version: 2, ..sa_agent(0) }),
        ("not a class with RMPP", Registration { class: 4, version: 1, ..sa_agent(0) }),
        ("no such class", Registration { class: 0x50, rmpp_version: 0, ..sa_agent(0) }),
        ("no such version", Registration { version: 0x83, ..sa_agent(0) }),
        ("no such flag", Registration { flags: 2, ..sa_agent(0) }),
        ("no OUI", Registration { oui: [0; 3], ..vendor }),
    ];
    for (why, registration) in refused {
        assert_eq!(hosts.register(file, registration), Err(Errno::EINVAL), "{why}");
    }
    assert_eq!(hosts.register(file, vendor), Ok(0));
    assert_eq!(hosts.register(file, Registration { qpn: 1, ..Registration::default() }), Ok(1), "class 0: only sends");
    for agent in 2..32 {
        assert_eq!(hosts.register(file, directed_agent()), Ok(agent));
    }
    assert_eq!(hosts.register(file, directed_agent()), Err(Errno::ENOMEM));
    assert_eq!(hosts.kernel.unregister(&mut hosts.world, file, 32), Err(Errno::EINVAL));
    assert_eq!(hosts.kernel.unregister(&mut hosts.world, file, 7), Ok(()));
    assert_eq!(hosts.kernel.unregister(&mut hosts.world, file, 7), Err(Errno::EINVAL));
    assert_eq!(hosts.register(file, directed_agent()), Ok(7), "the first free number");
}

#[test]
fn no_two_agents_of_a_port_take_the_same_requests() {
    let mut hosts = Hosts::new();
    let (one, two, elsewhere) = (hosts.open_new(at(A, 1)), hosts.open_new(at(A, 1)), hosts.open_new(at(A, 2)));
    assert_eq!(hosts.register(one, sa_agent(0b110)), Ok(0));
    assert_eq!(hosts.register(two, sa_agent(0b010)), Err(Errno::EINVAL));
    assert_eq!(hosts.register(one, sa_agent(0b100)), Err(Errno::EINVAL), "of the same file neither");
    assert_eq!(hosts.register(two, sa_agent(0b1000)), Ok(0), "other methods");
    assert_eq!(hosts.register(two, Registration { version: 1, ..sa_agent(0b110) }), Ok(1), "another version");
    assert_eq!(hosts.register(elsewhere, sa_agent(0b110)), Ok(0), "another port");
    let vendor = |oui| Registration { qpn: 1, class: 0x32, version: 1, methods: 2, oui, ..Registration::default() };
    assert_eq!(hosts.register(one, vendor([1, 2, 3])), Ok(1));
    assert_eq!(hosts.register(two, vendor([1, 2, 4])), Ok(2), "another vendor");
    assert_eq!(hosts.register(two, vendor([1, 2, 3])), Err(Errno::EINVAL));
    hosts.kernel.close(&mut hosts.world, one);
    assert_eq!(hosts.register(two, sa_agent(0b010)), Ok(3), "closing gives it free");
}

#[test]
fn writes_that_the_kernel_refuses() {
    let mut hosts = Hosts::new();
    let file = hosts.open_new(at(A, 1));
    let agent = hosts.register(file, directed_agent()).unwrap();
    let good = ask(agent, TIMEOUT_MS, &node_info(&[1, 6], 5));
    assert_eq!(hosts.write(file, &good[..64 + 35]), Err(Errno::EINVAL), "short");
    assert_eq!(hosts.write(file, &[&good[..], &[0]].concat()), Err(Errno::EINVAL), "long");
    assert_eq!(hosts.write(file, &ask(32, 0, &node_info(&[1], 5))), Err(Errno::EINVAL), "no such number of an agent");
    assert_eq!(hosts.write(file, &ask(31, 0, &node_info(&[1], 5))), Err(Errno::EIO), "no agent of this number");
    assert_eq!(hosts.write(file, &ask(agent, 0, &node_info(&[2], 5))), Err(Errno::EINVAL), "another port's directed route");
    // S 6 leads to T's port in INIT state, but with nothing behind: no answer comes, the request waits.
    hosts.world.apply(Event::Cut(at(S, 6).into()));
    assert_eq!(hosts.write(file, &good), Ok(()));
    assert_eq!(hosts.write(file, &good), Err(Errno::EINVAL), "the same transaction again");
    assert_eq!(hosts.write(file, &ask(agent, TIMEOUT_MS, &node_info(&[1, 6], 6))), Ok(()), "another transaction");
    let rmpp = hosts.register(file, sa_agent(0)).unwrap();
    assert_eq!(hosts.write(file, &ask(rmpp, 0, &node_info(&[1], 9))), Err(Errno::EINVAL), "a class without RMPP");
}

#[test]
fn a_request_without_an_answer_goes_out_again_and_comes_back_with_110() {
    let mut hosts = Hosts::new();
    let file = hosts.open_new(at(A, 1));
    let agent = hosts.register(file, directed_agent()).unwrap();
    hosts.world.apply(Event::Cut(at(S, 5).into()));
    let mad = node_info(&[1, 5], 3);
    let lost = |hosts: &Hosts| hosts.world.counters().lost.values().sum::<u64>();
    let before = lost(&hosts);
    hosts.write(file, &packet(agent, TIMEOUT_MS, 2, 0xffff, 0, &mad.0)).unwrap();
    hosts.pass(Duration::from_millis(299));
    assert_eq!((hosts.read(file), lost(&hosts) - before), (None, 3), "three tries of 100 ms");
    hosts.pass(Duration::from_millis(1));
    let Message { header, data } = hosts.read(file).unwrap();
    assert_eq!([0, 4, 8, 12].map(|at| word(&header, at)), [agent, 110, TIMEOUT_MS, 2]);
    assert_eq!((data.len(), &data[..8]), (24, &mad.0[..8]));
    assert_eq!(data[12..16], mad.0[12..16], "the low half of the transaction");
    // A third try that gets through is an answer like any other.
    hosts.write(file, &packet(agent, TIMEOUT_MS, 2, 0xffff, 0, &mad.0)).unwrap();
    hosts.pass(Duration::from_millis(150));
    hosts.world.apply(Event::Restore(at(S, 5).into()));
    hosts.pass(Duration::from_millis(50));
    assert_eq!(word(&hosts.read(file).unwrap().header, 4), 0);
    hosts.pass(Duration::from_secs(10));
    assert_eq!(hosts.read(file), None);
}

#[test]
fn nobody_waits_with_a_timeout_of_zero() {
    let mut hosts = Hosts::new();
    let file = hosts.open_new(at(A, 1));
    let agent = hosts.register(file, directed_agent()).unwrap();
    hosts.write(file, &ask(agent, 0, &node_info(&[1], 3))).unwrap();
    hosts.write(file, &ask(agent, 0, &node_info(&[1], 3))).unwrap();
    hosts.pass(Duration::from_secs(10));
    assert_eq!(hosts.read(file), None, "the answer is dropped");
}

#[test]
fn answers_and_requests_find_their_agents() {
    let mut hosts = Hosts::new();
    let (server, client) = (hosts.open_new(at(B, 1)), hosts.open_new(at(A, 1)));
    hosts.register(server, Registration { class: 0x32, version: 1, oui: [1, 2, 3], methods: 2, rmpp_version: 0, ..sa_agent(0) }).unwrap();
    let sa = hosts.register(server, Registration { rmpp_version: 0, ..sa_agent(1 << GET_TABLE.0) }).unwrap();
    let others = [directed_agent(), sa_agent(0), Registration { rmpp_version: 0, ..sa_agent(0) }];
    let agents: Vec<u32> = others.into_iter().map(|other| hosts.register(client, other).unwrap()).collect();

    let mut mad = Mad::request(Class::SUBN_ADM, 2, GET_TABLE, NodeInfo::ID, 0);
    mad.set_transaction(0x1234_5678);
    hosts.write(client, &packet(agents[2], TIMEOUT_MS, 0, LID_B, 1, &mad.0)).unwrap();
    let request = hosts.read(server).unwrap();
    assert_eq!((word(&request.header, 0), &request.header[20..24], &request.header[28..30]), (sa, &[0, 0, 0, 1][..], &[0, 1][..]));

    let mut answer = Mad(request.data.try_into().unwrap());
    answer.set_method(GET_TABLE_RESP);
    hosts.write(server, &packet(sa, 0, 0, LID_A, 1, &answer.0)).unwrap();
    let message = hosts.read(client).unwrap();
    assert_eq!((word(&message.header, 0), &message.header[28..30]), (agents[2], &[0, LID_B as u8][..]));
    assert_eq!(message.data[12..16], [0x12, 0x34, 0x56, 0x78]);
    // The answer to an answer's repetition: nobody waits any more.
    hosts.write(server, &packet(sa, 0, 0, LID_A, 1, &answer.0)).unwrap();
    assert_eq!(hosts.read(client), None);
    // A vendor's agent takes what has its OUI only.
    let mut mad = Mad::request(Class(0x32), 1, Method::GET, AttributeId(1), 0);
    mad.0[37..40].copy_from_slice(&[1, 2, 4]);
    hosts.write(client, &packet(agents[1] + 1, 0, 0, LID_B, 1, &mad.0)).unwrap();
    mad.0[37..40].copy_from_slice(&[1, 2, 3]);
    hosts.write(client, &packet(agents[1] + 1, 0, 0, LID_B, 1, &mad.0)).unwrap();
    assert_eq!(hosts.read(server).map(|message| message.data), Some(with_transaction(&mad, &hosts, client, 2)));
    assert_eq!(hosts.read(server), None);
}

/// The MAD with the upper half of the transaction that the kernel gives it: known from what arrives elsewhere.
fn with_transaction(mad: &Mad, hosts: &Hosts, client: FileId, agent: u64) -> Vec<u8> {
    let mut mad = *mad;
    let number: u64 = format!("{client:?}").chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    assert!(hosts.world.client_port(ClientId(number as u16)).is_some());
    mad.set_transaction(number << 48 | agent << 32);
    mad.0.to_vec()
}

#[test]
fn messages_of_five_megabytes_both_ways() {
    let mut hosts = Hosts::new();
    let (server, client) = (hosts.open_new(at(B, 1)), hosts.open_new(at(A, 1)));
    const GET_MULTI: Method = Method(0x14);
    let sa = hosts.register(server, sa_agent(1 << GET_MULTI.0 | 1 << GET_TABLE.0)).unwrap();
    let agent = hosts.register(client, sa_agent(0)).unwrap();
    let long = |mad: &Mad| {
        let mut message = mad.0[..56].to_vec();
        message[26] |= 1; // Active: all that the kernel looks at.
        message.extend((0..5_400_000_u32).map(|at| (at * 11 + at / 253) as u8));
        message
    };
    let mut mad = Mad::request(Class::SUBN_ADM, 2, GET_MULTI, AttributeId(0x35), 0);
    mad.set_transaction(9);
    let question = long(&mad);
    hosts.write(client, &packet(agent, 10_000, 0, LID_B, 1, &question)).unwrap();
    let request = hosts.read(server).unwrap();
    assert_eq!((request.data.len(), word(&request.header, 16)), (question.len(), 64 + question.len() as u32));
    assert!(request.data[36..] == question[36..]);

    let mut answer = Mad([0; 256]);
    answer.0[..56].copy_from_slice(&request.data[..56]);
    answer.set_method(Method(0x94));
    let answer = long(&answer);
    hosts.write(server, &packet(sa, 0, 0, LID_A, 1, &answer)).unwrap();
    let received = hosts.read(client).unwrap();
    assert_eq!(word(&received.header, 4), 0);
    assert!(received.data[36..] == answer[36..]);
    assert_eq!((hosts.read(client), hosts.read(server)), (None, None));
    hosts.pass(Duration::from_secs(60));
    assert_eq!((hosts.read(client), hosts.read(server)), (None, None));
    assert_eq!(hosts.kernel.poll_timeout(), None, "nothing is left to wait for");
}

/// As osmtest has it: more answers in ten seconds than messages are kept in mind.
#[test]
fn many_short_messages_one_after_another() {
    let mut hosts = Hosts::new();
    let (server, client) = (hosts.open_new(at(B, 1)), hosts.open_new(at(A, 1)));
    let sa = hosts.register(server, sa_agent(1 << GET_TABLE.0)).unwrap();
    let agent = hosts.register(client, sa_agent(0)).unwrap();
    for transaction in 0..2_500 {
        let mut question = Mad::request(Class::SUBN_ADM, 2, GET_TABLE, AttributeId(0x12), 0);
        question.set_transaction(transaction);
        hosts.write(client, &packet(agent, 1000, 3, LID_B, 1, &question.0)).unwrap();
        let mut answer = hosts.read(server).unwrap().data[..56 + 72].to_vec();
        answer[3] |= 0x80;
        answer[26] |= 1;
        hosts.write(server, &packet(sa, 0, 3, LID_A, 1, &answer)).unwrap();
        assert!(hosts.read(client).is_some(), "answer {transaction}");
    }
}

#[test]
fn a_message_that_nobody_acknowledges_comes_back_with_110() {
    let mut hosts = Hosts::new();
    let client = hosts.open_new(at(A, 1));
    let agent = hosts.register(client, sa_agent(0)).unwrap();
    let mut message = Mad::request(Class::SUBN_ADM, 2, Method(0x14), AttributeId(0x35), 0).0.to_vec();
    message[26] = 1;
    message.resize(1000, 7);
    hosts.write(client, &packet(agent, 500, 1, LID_B, 1, &message)).unwrap();
    hosts.pass(Duration::from_millis(999));
    assert_eq!(hosts.read(client), None);
    hosts.pass(Duration::from_millis(1));
    let back = hosts.read(client).unwrap();
    assert_eq!((word(&back.header, 4), back.data.len()), (110, 24));
}

/// `ib_mad_kernel_rmpp_agent`: that is who says so by a flag, and who registered without RMPP at all.
#[test]
fn who_does_rmpp_itself_gets_the_segments() {
    let agent = sa_agent(1 << GET_TABLE.0);
    segments_come_to(Registration { flags: Registration::USER_RMPP, ..agent });
    segments_come_to(Registration { rmpp_version: 0, ..agent });
}

fn segments_come_to(own: Registration) {
    let mut hosts = Hosts::new();
    let (server, client) = (hosts.open_new(at(B, 1)), hosts.open_new(at(A, 1)));
    let sa = hosts.register(server, own).unwrap();
    let agent = hosts.register(client, sa_agent(0)).unwrap();
    let mut mad = Mad::request(Class::SUBN_ADM, 2, GET_TABLE, NodeInfo::ID, 0);
    mad.set_transaction(3);
    hosts.write(client, &packet(agent, 10_000, 0, LID_B, 1, &mad.0)).unwrap();
    let request = hosts.read(server).unwrap();
    let mut segment = Mad(request.data.try_into().unwrap());
    segment.set_method(GET_TABLE_RESP);
    // First of two: version 1, data, active and first; the second is the last, with 20 + 10 bytes.
    segment.0[24..36].copy_from_slice(&[1, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 250]);
    segment.0[56..].fill(0x11);
    hosts.write(server, &packet(sa, 0, 0, LID_A, 1, &segment.0)).unwrap();
    let acknowledgement = hosts.read(server).unwrap();
    assert_eq!(acknowledgement.data[24..36], [1, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 65]);
    segment.0[24..36].copy_from_slice(&[1, 1, 5, 0, 0, 0, 0, 2, 0, 0, 0, 30]);
    hosts.write(server, &packet(sa, 0, 0, LID_A, 1, &segment.0)).unwrap();
    assert_eq!(hosts.read(server).unwrap().data[28..32], [0, 0, 0, 2]);
    let message = hosts.read(client).unwrap();
    assert_eq!((message.data.len(), &message.data[56..]), (56 + 210, &[0x11; 210][..]));
}

#[test]
fn one_subnet_manager_a_port_has_issm() {
    let mut hosts = Hosts::new();
    let is_sm = |hosts: &Hosts| hosts.world.port_info(at(A, 1)).unwrap().capabilities().contains(CapabilityMask::SM);
    let first = hosts.kernel.open_issm(&mut hosts.world, at(A, 1)).unwrap();
    assert!(is_sm(&hosts));
    assert_eq!(hosts.kernel.open_issm(&mut hosts.world, at(A, 1)), None);
    assert!(hosts.kernel.open_issm(&mut hosts.world, at(A, 2)).is_some(), "the other port is another one");
    hosts.kernel.close_issm(&mut hosts.world, first);
    assert!(!is_sm(&hosts));
    assert!(hosts.kernel.open_issm(&mut hosts.world, at(A, 1)).is_some());
}

/// `REGISTER_AGENT` and `REGISTER_AGENT2`: offsets by hand from `rdma/ib_user_mad.h`.
#[test]
fn arguments_of_registrations() {
    let mut argument = [0; 28];
    argument[4] = 0b110; // method mask
    argument[19] = 0x80;
    argument[20..27].copy_from_slice(&[1, 0x32, 2, 3, 4, 5, 1]);
    let expected = Registration { qpn: 1, class: 0x32, version: 2, methods: 1 << 127 | 0b110, oui: [3, 4, 5], rmpp_version: 1, flags: 0 };
    assert_eq!(Registration::from_argument(&argument), expected);
    let mut argument = [0; 40];
    argument[4..8].copy_from_slice(&1_u32.to_ne_bytes());
    argument[8..10].copy_from_slice(&[0x32, 2]);
    argument[12..16].copy_from_slice(&1_u32.to_ne_bytes());
    argument[16] = 0b110;
    argument[31] = 0x80;
    argument[32..36].copy_from_slice(&0x0003_0405_u32.to_ne_bytes());
    argument[36] = 1;
    assert_eq!(Registration::from_argument_2(&argument), Registration { flags: 1, ..expected });
}
