//! The protocol of ibsim: for programs under its preload library, and for whoever else speaks it.

mod answers;
mod bulk;
mod client;

use super::log::Log;
use super::{Door, Hall, Ready, Watch};
use crate::clients::{ClientId, Delivered, Interest, Losses};
use bulk::Bulk;
use client::Client;
use heddle_mad::Time;
use heddle_mad::transport::ibsim::protocol::{self, Connect, Control, Datagram, Kind, NODE_NAME_MAX};
use heddle_mad::wire::Class;
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The door of the ibsim protocol.
pub(crate) struct Ibsim {
    name: String,
    watch: Watch,
    control: UnixDatagram,
    /// Tries whether a client's socket is still there.
    probe: UnixDatagram,
    bulk: Bulk,
    clients: BTreeMap<ClientId, Client>,
    /// Clients that are owed something.
    owed: Vec<ClientId>,
    next_look: Option<Time>,
    /// Whether somebody heard that there are messages that are none.
    told_garbage: bool,
}

/// The control socket's number among those that the door watches; the others have those of their clients, which begin at 1.
const CONTROL: u32 = 0;

/// So many control messages are read before it is another socket's turn.
const BATCH: usize = 64;

/// Nothing tells that a client died which does not expect anything: it is looked for.
const LOOK: Duration = Duration::from_secs(1);

impl Ibsim {
    pub(crate) fn open(name: &str, watch: Watch) -> io::Result<Self> {
        let control = UnixDatagram::bind_addr(&protocol::address(name, "ctl")?)?;
        control.set_nonblocking(true)?;
        watch.add(&control, CONTROL)?;
        let probe = UnixDatagram::unbound()?;
        probe.set_nonblocking(true)?;
        Ok(Self {
            name: name.into(),
            watch,
            control,
            probe,
            bulk: Bulk::new(),
            clients: BTreeMap::new(),
            owed: Vec::new(),
            next_look: None,
            told_garbage: false,
        })
    }

    fn read_control(&mut self, hall: &mut Hall) {
        for _ in 0..BATCH {
            let mut bytes = [0; Control::SIZE + 1];
            let (read, sender) = match self.control.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Nothing left; or something that concerns nobody, such as the end of somebody who was sent an answer.
                Err(_) => return,
            };
            let refused = Control::new(0, Kind::ERROR, &[]);
            let answer = match Control::from_bytes(&bytes[..read]) {
                Some(request) => self.answer(hall, &sender, &request).unwrap_or(Control { kind: Kind::ERROR, ..request }),
                None => {
                    if !std::mem::replace(&mut self.told_garbage, true) {
                        let text = format!("somebody sends control messages that are none, such as one of {read} bytes; they are refused");
                        hall.log.tell(hall.world.now(), &text);
                    }
                    refused
                }
            };
            // Whoever has no name, or reads nothing, gets no answer.
            let _ = self.control.send_to_addr(&answer.to_bytes(), &sender);
        }
    }

    /// Answers a control message; `None` to refuse it.
    fn answer(&mut self, hall: &mut Hall, sender: &SocketAddr, request: &Control) -> Option<Control> {
        if request.kind == Kind::CONNECT {
            let connect = Connect::from_data(&request.data);
            return match self.connect(hall, sender, &connect) {
                Ok(answer) => Some(Control::new(answer.id, Kind::CONNECT, &answer.to_data())),
                Err(why) => {
                    hall.log.tell(hall.world.now(), &format!("a client (process {}) was refused: {why}", connect.id));
                    None
                }
            };
        }
        let id = ClientId(u16::try_from(request.client).ok()?);
        let client = self.clients.get(&id).filter(|client| client.is(sender))?;
        let data = match request.kind {
            Kind::DISCONNECT => {
                self.remove(hall, id, None);
                Vec::new()
            }
            Kind::SET_IS_SM => {
                set_is_sm(hall, id, request.data[..4] != [0; 4]);
                request.data[..4].to_vec()
            }
            kind => answers::answer(&mut hall.world, client.at, kind, &request.data)?,
        };
        Some(Control::new(request.client, request.kind, &data))
    }

    /// Lets a client in.
    fn connect(&mut self, hall: &mut Hall, sender: &SocketAddr, wanted: &Connect) -> Result<Connect, String> {
        let at = hall.world.place(&String::from_utf8_lossy(&wanted.node)).map_err(|error| error.to_string())?;
        // Who has had this name before is gone, because names of sockets are had once.
        let before = self.clients.iter().find(|(_, client)| client.is(sender)).map(|(&id, _)| id);
        if let Some(before) = before {
            self.remove(hall, before, None);
        }
        let id = hall.world.attach(at, Losses::Told).map_err(|error| error.to_string())?;
        let socket = protocol::address(&self.name, &format!("out{}", id.0)).and_then(|own| {
            let socket = UnixDatagram::bind_addr(&own)?;
            socket.set_nonblocking(true)?;
            socket.connect_addr(&protocol::address(&self.name, &format!("in{}", wanted.id))?)?;
            self.watch.add(&socket, u32::from(id.0))?;
            Ok(socket)
        });
        let socket = socket.map_err(|error| {
            hall.world.detach(id);
            format!("its data socket @{}:in{} cannot be connected to: {error}", self.name, wanted.id)
        })?;
        self.clients.insert(id, Client::new(at, sender.clone(), wanted.id, socket));
        self.next_look = self.next_look.or(Some(hall.world.now() + LOOK));
        if wanted.is_sm {
            set_is_sm(hall, id, true);
        }
        let mut node = hall.world.network.device(at.node).description.clone().into_bytes();
        node.truncate(NODE_NAME_MAX);
        Ok(Connect { id: id.0.into(), is_sm: wanted.is_sm, node })
    }

    /// Lets a client go, which leaves nothing behind.
    fn remove(&mut self, hall: &mut Hall, id: ClientId, why: Option<&str>) {
        let Some(client) = self.clients.remove(&id) else { return };
        hall.world.detach(id);
        if self.clients.is_empty() {
            self.next_look = None;
        }
        let mut faults: Vec<String> = why.map(str::to_owned).into_iter().collect();
        if client.garbage > 0 {
            faults.push(format!("it sent {} datagrams that are none of this protocol", client.garbage));
        }
        if client.lost > 0 {
            faults.push(format!("it lost {} datagrams that it did not read", client.lost));
        }
        if !faults.is_empty() {
            hall.log.tell(hall.world.now(), &format!("{} is gone: {}", client.name(id), faults.join("; ")));
        }
    }
}

impl Door for Ibsim {
    fn ready(&mut self, hall: &mut Hall, socket: u32, ready: Ready) {
        if socket == CONTROL {
            return self.read_control(hall);
        }
        let id = ClientId(socket as u16);
        // It may have gone since it was found ready.
        let Some(client) = self.clients.get_mut(&id) else { return };
        if ready.write {
            self.owed.push(id);
        }
        if !ready.read {
            return;
        }
        let now = hall.world.now();
        let received = self.bulk.receive(&client.socket).map(|datagrams| {
            for packet in datagrams.filter_map(|bytes| client.packet(id, bytes, &mut hall.log, now)) {
                hall.world.send(id, &packet);
            }
        });
        match received {
            Ok(()) | Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => self.remove(hall, id, Some(&format!("it closed its socket ({})", errno.desc()))),
        }
    }

    fn deliver(&mut self, hall: &mut Hall, id: ClientId, delivered: &Delivered) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return false };
        if client.owe(id, delivered, &mut hall.log, hall.world.now()) {
            self.owed.push(id);
        }
        true
    }

    fn flush(&mut self, hall: &mut Hall) {
        let mut owed = std::mem::take(&mut self.owed);
        for id in owed.drain(..) {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            if let Err(error) = client.write(id, &mut self.bulk, &self.watch) {
                self.remove(hall, id, Some(&format!("it died ({error})")));
            }
        }
        self.owed = owed;
    }

    fn handle_timeout(&mut self, hall: &mut Hall) {
        let now = hall.world.now();
        if self.next_look.is_none_or(|due| now < due) {
            return;
        }
        self.next_look = Some(now + LOOK);
        let is_dead = |client: &Client| {
            let socket = protocol::address(&self.name, &format!("in{}", client.process));
            // A socket that is connected to ours permits no other connection: that is what is expected.
            socket.and_then(|socket| self.probe.connect_addr(&socket)).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        };
        let dead: Vec<ClientId> = self.clients.iter().filter(|(_, client)| is_dead(client)).map(|(&id, _)| id).collect();
        for id in dead {
            self.remove(hall, id, Some("it died"));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_look
    }
}

/// A subnet manager gets what comes unasked: of these classes only, because the preload library crashes on one that the program did not
/// register, and nobody tells which it did. OpenSM does register these.
fn set_is_sm(hall: &mut Hall, id: ClientId, is_sm: bool) {
    let classes = [(Class::SUBN_LID, 1), (Class::SUBN_DIRECTED, 1), (Class::SUBN_ADM, 2)];
    let interests = classes.map(|(class, version)| Interest::all(class.0, version)).to_vec();
    hall.world.set_interests(id, if is_sm { interests } else { Vec::new() });
    hall.world.set_is_sm(id, is_sm);
}
