use heddle_emulator::World;
use heddle_emulator::serve::Server;
use heddle_mad::transport::ibsim::protocol::{self, Connect, Control, Datagram, Kind};
use heddle_mad::transport::{Address, Delivery, Envelope, Ibsim, Transport};
use heddle_mad::wire::*;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A name that nobody else has.
pub(crate) fn fresh_name() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    format!("heddle-serve-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

/// A running server of a tree of 8 switches and 32 hosts with two ports each.
pub(crate) struct Running {
    pub(crate) name: String,
    told: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::named(fresh_name())
    }

    pub(crate) fn named(name: String) -> Self {
        let (told, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (opened, is_open) = mpsc::channel();
        let thread = {
            let (name, told, stop) = (name.clone(), Arc::clone(&told), Arc::clone(&stop));
            std::thread::spawn(move || {
                let fabric = heddle_fabric::generate("clos2:8").unwrap().build();
                let tell = move |line: &str| told.lock().unwrap().push(line.to_owned());
                let mut server = Server::open(World::new(&fabric), &name, tell).unwrap();
                opened.send(()).unwrap();
                server.run(&stop).unwrap();
            })
        };
        is_open.recv_timeout(PATIENCE).unwrap();
        Self { name, told, stop, thread: Some(thread) }
    }

    pub(crate) fn client(&self, node: &str) -> Ibsim {
        Ibsim::connect(&self.name, Some(node)).unwrap()
    }

    /// What it told whoever runs it.
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }

    pub(crate) fn wait_until_told(&self, text: &str) {
        wait_until(|| format!("\"{text}\" is told, not:\n{}", self.told()), || self.told().contains(text));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn wait_until(what: impl Fn() -> String, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "this does not come: {}", what());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A request to the node that is one hop away.
pub(crate) fn node_info(transaction: u32) -> Mad {
    let mut mad = Mad::directed(&Path::local().then(1).unwrap(), Method::GET, NodeInfo::ID, 0);
    mad.set_transaction(transaction.into());
    mad
}

pub(crate) fn ask(client: &mut Ibsim, mad: Mad) {
    client.send(&Envelope { address: Address::Directed, mad }).unwrap();
}

/// The next answer's transaction, its upper half left out, and its data.
pub(crate) fn answer(client: &mut Ibsim) -> (u32, Mad) {
    let deadline = client.now() + PATIENCE;
    match client.receive(Some(deadline)).unwrap() {
        Some(Delivery::Received(Envelope { mad, .. })) => (mad.transaction() as u32, mad),
        other => panic!("{other:?} instead of an answer"),
    }
}

/// That the client is served as if nobody else were there.
pub(crate) fn assert_served(client: &mut Ibsim) {
    for transaction in 0..50 {
        ask(client, node_info(transaction));
        let (answered, mad) = answer(client);
        assert_eq!(answered, transaction);
        assert_eq!(mad.attribute::<NodeInfo>().kind(), Some(NodeType::Switch));
    }
}

/// A client that does nothing but what it is told, datagram by datagram.
pub(crate) struct Raw {
    pub(crate) control: UnixDatagram,
    pub(crate) data: UnixDatagram,
    pub(crate) slot: u32,
}

impl Raw {
    pub(crate) fn connect(name: &str, node: &str, is_sm: bool) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(1 << 23);
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        let bound = |part: String| UnixDatagram::bind_addr(&protocol::address(name, &part).unwrap()).unwrap();
        let (control, data) = (bound(format!("ctl{id}")), bound(format!("in{id}")));
        control.connect_addr(&protocol::address(name, "ctl").unwrap()).unwrap();
        for socket in [&control, &data] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        let mut raw = Self { control, data, slot: 0 };
        let reply = raw.control(Kind::CONNECT, &Connect { id, is_sm, node: node.into() }.to_data());
        if reply.kind == Kind::ERROR {
            return None;
        }
        raw.slot = Connect::from_data(&reply.data).id;
        raw.data.connect_addr(&protocol::address(name, &format!("out{}", raw.slot)).unwrap()).unwrap();
        Some(raw)
    }

    pub(crate) fn control(&self, kind: Kind, data: &[u8]) -> Control {
        self.control.send(&Control::new(self.slot, kind, data).to_bytes()).unwrap();
        let mut bytes = [0; Control::SIZE];
        let read = self.control.recv(&mut bytes).unwrap();
        Control::from_bytes(&bytes[..read]).unwrap()
    }

    pub(crate) fn send(&self, mad: Mad) {
        let datagram = Datagram { dlid: 0xffff, slid: 0xffff, dst_qp: 0, src_qp: 0, status: 0, mad };
        assert_eq!(self.data.send(&datagram.to_bytes()).unwrap(), Datagram::SIZE);
    }

    pub(crate) fn receive(&self) -> std::io::Result<Datagram> {
        let mut bytes = [0; Datagram::SIZE + 1];
        let read = self.data.recv(&mut bytes)?;
        Ok(Datagram::from_bytes(&bytes[..read]).unwrap())
    }
}
