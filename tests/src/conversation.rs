use heddle_mad::exchange::{Event, Exchange, Failure, Limits};
use heddle_mad::transport::{Address, Envelope, Transport};
use heddle_mad::wire::{
    Attribute, Class, LinearForwardingTable, Mad, Method, NodeInfo, Notice, Path, PortInfo, PortState, SwitchInfo, TrapDetails,
};
use heddle_mad::{Time, exchange::RequestId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The line with which [`converse`] asks for the link of the first switch's port 2 to be cut.
pub const READY: &str = "ready for the trap";

/// Says what a subnet manager says to a fabric of `host - switch - switch - host`, from the first host, whose port 1 leads to port 1 of
/// the switch, whose port 2 leads to the next one. Reports each answer as a line to `report`, in the same words by whatever transport.
///
/// # Panics
/// When the transport fails, or an answer does not come.
pub fn converse(transport: &mut dyn Transport, report: &mut dyn FnMut(&str)) {
    let limits = Limits { retries: 1, ..Limits::default() };
    let mut talk = Talk { transport, exchange: Exchange::new(limits), notices: Vec::new() };

    for ports in [&[][..], &[1], &[1, 2], &[1, 2, 2], &[1, 4]] {
        report(&talk.who_is(ports));
    }

    let switch = path(&[1]);
    let port = talk.address(&path(&[]), 1, 1);
    report(&format!("own LID {}", port.lid()));
    talk.address(&switch, 0, 2);
    let mut info = talk.get::<SwitchInfo>(&switch, 0);
    info.set_linear_fdb_top(2);
    talk.set(&switch, 0, info);
    let mut ports = [255; 64];
    ports[1] = 1;
    ports[2] = 0;
    talk.set(&switch, 0, LinearForwardingTable::from_ports(ports));
    let table = talk.get::<LinearForwardingTable>(&switch, 0);
    report(&format!("LFT {:?}", (0..4).map(|lid| table.port(lid)).collect::<Vec<_>>()));

    report(&talk.who_has_lid(2));
    for state in [PortState::Armed, PortState::Active] {
        talk.set_state(&path(&[]), 1, state);
        talk.set_state(&switch, 1, state);
    }
    report(&talk.who_has_lid(2));

    talk.transport.set_is_sm(true).expect("IsSM can be set");
    report(&format!("IsSM {}", talk.get::<PortInfo>(&path(&[]), 1).capability_mask() >> 1 & 1));

    report(&talk.flood(5_000));
    report(&talk.trap());
    report(READY);
    report(&talk.trap());
    report(&talk.who_is(&[1, 2]));

    talk.transport.set_is_sm(false).expect("IsSM can be cleared");
    report(&format!("IsSM {}", talk.get::<PortInfo>(&path(&[]), 1).capability_mask() >> 1 & 1));
}

struct Talk<'a> {
    transport: &'a mut dyn Transport,
    exchange: Exchange,
    notices: Vec<Envelope>,
}

impl Talk<'_> {
    fn who_is(&mut self, ports: &[u8]) -> String {
        let path = path(ports);
        match self.ask(directed(Mad::directed(&path, Method::GET, NodeInfo::ID, 0))) {
            Ok(mad) => {
                let info = mad.attribute::<NodeInfo>();
                let kind = info.kind().expect("a kind of node");
                format!("{path}: {kind:?} {:#x} entered by port {}", info.node_guid(), info.local_port_num())
            }
            Err(why) => format!("{path}: {why}"),
        }
    }

    fn get<A: Attribute>(&mut self, path: &Path, modifier: u32) -> A {
        let mad = self.ask(directed(Mad::directed(path, Method::GET, A::ID, modifier)));
        mad.unwrap_or_else(|why| panic!("Get {} at {path}: {why}", A::NAME)).attribute()
    }

    fn set<A: Attribute>(&mut self, path: &Path, modifier: u32, value: A) -> A {
        let mut mad = Mad::directed(path, Method::SET, A::ID, modifier);
        mad.set_attribute(&value);
        let mad = self.ask(directed(mad)).unwrap_or_else(|why| panic!("Set {} at {path}: {why}", A::NAME));
        assert_eq!(mad.status().0, 0, "Set {} at {path}: {}", A::NAME, mad.status());
        mad.attribute()
    }

    fn who_has_lid(&mut self, lid: u16) -> String {
        let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, NodeInfo::ID, 0);
        match self.ask(Envelope { address: Address::Lid { lid, qp: 0 }, mad }) {
            Ok(mad) => format!("LID {lid} is {:#x}", mad.attribute::<NodeInfo>().node_guid()),
            Err(why) => format!("LID {lid}: {why}"),
        }
    }

    fn set_state(&mut self, path: &Path, number: u32, state: PortState) {
        let mut port = self.get::<PortInfo>(path, number);
        port.set_port_state(state as u8);
        port.set_port_physical_state(0);
        self.set(path, number, port);
    }

    /// Gives a port its LID. Its state stays as it is: 0 asks for no change.
    fn address(&mut self, path: &Path, number: u32, lid: u16) -> PortInfo {
        let mut port = self.get::<PortInfo>(path, number);
        port.set_lid(lid);
        port.set_master_sm_lid(1);
        port.set_port_state(0);
        port.set_port_physical_state(0);
        self.set(path, number, port)
    }

    fn ask(&mut self, request: Envelope) -> Result<Mad, Failure> {
        let id = self.exchange.ask(0, request);
        let mut ended = self.run(&[id]);
        ended.remove(&id).expect("the request ended")
    }

    /// Many requests at once, and then one after another: none may wait for a timer.
    fn flood(&mut self, count: u32) -> String {
        let before = *self.exchange.counters();
        let start = self.transport.now();
        let ask = |talk: &mut Self, i: u32| {
            let path = path([&[][..], &[1], &[1, 2], &[1, 2, 2]][i as usize % 4]);
            talk.exchange.ask(u64::from(i % 40), directed(Mad::directed(&path, Method::GET, NodeInfo::ID, 0)))
        };
        let ids: Vec<RequestId> = (0..count).map(|i| ask(self, i)).collect();
        let mut answered = self.run(&ids).values().filter(|answer| answer.is_ok()).count();
        for i in 0..400 {
            let id = ask(self, i);
            answered += self.run(&[id]).values().filter(|answer| answer.is_ok()).count();
        }
        let after = self.exchange.counters();
        // 400 waits of 25 ms on average, if each request waited for half a turn of a poll of 50 ms.
        assert!(self.transport.now() - start < Duration::from_secs(8), "requests wait for something: {:?}", self.transport.now() - start);
        format!("answered {answered}, sent {}, retried {}", after.sent - before.sent, after.retried - before.retried)
    }

    /// Waits for a trap and ends its repetition.
    fn trap(&mut self) -> String {
        let deadline = self.transport.now() + Duration::from_secs(20);
        while self.notices.is_empty() {
            assert!(self.transport.now() < deadline, "no trap came");
            self.turn(deadline);
        }
        let Envelope { address, mut mad } = self.notices.remove(0);
        let notice = mad.attribute::<Notice>();
        let details = match notice.details() {
            Some(TrapDetails::LinkStateChange { lid }) => format!("link state at LID {lid}"),
            Some(TrapDetails::LocalChange { lid, .. }) => format!("local change at LID {lid}"),
            other => format!("{other:?}"),
        };
        let line = format!("{:?} {} {details} from {address:?}", mad.method(), notice.trap_number());
        mad.set_method(Method::TRAP_REPRESS);
        self.exchange.tell(Envelope { address, mad });
        line
    }

    fn run(&mut self, ids: &[RequestId]) -> BTreeMap<RequestId, Result<Mad, Failure>> {
        let mut ended = BTreeMap::new();
        let deadline = self.transport.now() + Duration::from_secs(60);
        while ended.len() < ids.len() {
            assert!(self.transport.now() < deadline, "{} of {} requests ended", ended.len(), ids.len());
            ended.extend(self.turn(deadline));
        }
        ended
    }

    fn turn(&mut self, until: Time) -> Vec<(RequestId, Result<Mad, Failure>)> {
        while let Some(envelope) = self.exchange.poll_transmit(self.transport.now()) {
            self.transport.send(&envelope).expect("the transport sends");
        }
        let deadline = self.exchange.poll_timeout().map_or(until, |at| at.min(until));
        match self.transport.receive(Some(deadline)).expect("the transport receives") {
            Some(delivery) => self.exchange.handle(self.transport.now(), delivery),
            None => self.exchange.handle_timeout(self.transport.now()),
        }
        let mut ended = Vec::new();
        while let Some(event) = self.exchange.poll_event() {
            match event {
                Event::Answer { id, mad } => ended.push((id, Ok(mad))),
                Event::Failed { id, why, .. } => ended.push((id, Err(why))),
                Event::Unsolicited(envelope) => self.notices.push(envelope),
            }
        }
        ended
    }
}

fn directed(mad: Mad) -> Envelope {
    Envelope { address: Address::Directed, mad }
}

fn path(ports: &[u8]) -> Path {
    Path::from_ports(ports).expect("a short path")
}
