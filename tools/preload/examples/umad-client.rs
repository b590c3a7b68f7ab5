//! A program that uses umad without libibumad, for the tests of the preload library: it does what its argument says, and panics if the
//! system calls do not do what they do on Linux with an InfiniBand adapter. Its own calls are those of libc, as in a C program.
//!
//! The ports that it sees, and what they lead to, are those of the test.
#![allow(unsafe_code, reason = "it calls libc as a C program does")]

use std::ffi::CString;
use std::io::Write;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

const REGISTER_AGENT: libc::c_ulong = 0xc01c_1b01;
const UNREGISTER_AGENT: libc::c_ulong = 0x4004_1b02;
const ENABLE_PKEY: libc::c_ulong = 0x1b03;
const REGISTER_AGENT2: libc::c_ulong = 0xc028_1b04;

fn main() {
    let scenario = std::env::args().nth(1).unwrap_or_default();
    match scenario.as_str() {
        "errors" => errors(),
        "forks" => forks(),
        "polls" => polls(),
        "blocks" => blocks(),
        "devices" => devices(),
        "duplicates" => duplicates(),
        "long-messages" => long_messages(),
        "issm" => issm(),
        "sysfs" => sysfs(),
        "waits" => waits(),
        other => panic!("no scenario \"{other}\""),
    }
    println!("done");
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

fn open(path: &str, flags: i32) -> Result<RawFd, i32> {
    let path = CString::new(path).unwrap();
    // SAFETY: the path ends with a zero.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags) };
    if descriptor < 0 { Err(errno()) } else { Ok(descriptor) }
}

fn umad(number: u32, flags: i32) -> RawFd {
    open(&format!("/dev/infiniband/umad{number}"), libc::O_RDWR | flags).unwrap()
}

fn close(descriptor: RawFd) {
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::close(descriptor) }, 0);
}

fn ioctl(descriptor: RawFd, request: libc::c_ulong, argument: &mut [u8]) -> Result<(), i32> {
    // SAFETY: the argument is as large as the number of the request says, or the kernel does not take the request.
    let result = unsafe { libc::ioctl(descriptor, request, argument.as_mut_ptr()) };
    if result < 0 { Err(errno()) } else { Ok(()) }
}

fn write(descriptor: RawFd, bytes: &[u8]) -> Result<usize, i32> {
    // SAFETY: the pointer and the length are those of a slice.
    let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    if written < 0 { Err(errno()) } else { Ok(written as usize) }
}

fn read(descriptor: RawFd, buffer: &mut [u8]) -> Result<usize, i32> {
    // SAFETY: the pointer and the length are those of a slice.
    let read = unsafe { libc::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
    if read < 0 { Err(errno()) } else { Ok(read as usize) }
}

fn poll(descriptors: &[RawFd], timeout_ms: i32) -> Vec<i16> {
    let mut polls: Vec<libc::pollfd> = descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: so many elements.
    assert!(unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) } >= 0);
    polls.iter().map(|poll| poll.revents).collect()
}

/// Registers with REGISTER_AGENT; the agent's number.
fn register(descriptor: RawFd, qpn: u8, class: u8, version: u8, methods: u128, rmpp: u8) -> Result<u32, i32> {
    let mut argument = [0; 28];
    argument[4..20].copy_from_slice(&methods.to_le_bytes());
    argument[20..23].copy_from_slice(&[qpn, class, version]);
    argument[26] = rmpp;
    ioctl(descriptor, REGISTER_AGENT, &mut argument)?;
    Ok(u32::from_ne_bytes([argument[0], argument[1], argument[2], argument[3]]))
}

fn enable_p_key(descriptor: RawFd) {
    ioctl(descriptor, ENABLE_PKEY, &mut []).unwrap();
}

/// An open umad with headers of 64 bytes and an agent 0 for directed routes.
fn directed(number: u32, flags: i32) -> RawFd {
    let descriptor = umad(number, flags);
    enable_p_key(descriptor);
    assert_eq!(register(descriptor, 0, 0x81, 1, 0, 0), Ok(0));
    descriptor
}

/// A header of 64 bytes, then the MAD.
fn packet(agent: u32, timeout_ms: u32, retries: u32, lid: u16, qpn: u32, mad: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[0..4].copy_from_slice(&agent.to_ne_bytes());
    packet[8..12].copy_from_slice(&timeout_ms.to_ne_bytes());
    packet[12..16].copy_from_slice(&retries.to_ne_bytes());
    packet[20..24].copy_from_slice(&qpn.to_be_bytes());
    packet[28..30].copy_from_slice(&lid.to_be_bytes());
    packet.extend_from_slice(mad);
    packet
}

/// Asks for a NodeInfo over a directed route (IBA 14.2.1.2).
fn node_info(agent: u32, ports: &[u8], transaction: u32, timeout_ms: u32) -> Vec<u8> {
    let mut mad = [0; 256];
    mad[..4].copy_from_slice(&[1, 0x81, 1, 1]);
    mad[7] = ports.len() as u8;
    mad[12..16].copy_from_slice(&transaction.to_be_bytes());
    mad[17] = 0x11;
    mad[32..36].fill(0xff);
    mad[129..129 + ports.len()].copy_from_slice(ports);
    packet(agent, timeout_ms, 0, 0xffff, 0, &mad)
}

/// The node GUID in what was read: 64 bytes of header, then the MAD, whose attribute begins at 64.
fn guid(packet: &[u8]) -> u64 {
    u64::from_be_bytes(packet[64 + 64 + 12..][..8].try_into().unwrap())
}

fn transaction(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[64 + 12..][..4].try_into().unwrap())
}

fn status(packet: &[u8]) -> u32 {
    u32::from_ne_bytes(packet[4..8].try_into().unwrap())
}

/// Every error number, by the call that gets it.
fn errors() {
    assert_eq!(open("/dev/infiniband/umad7", libc::O_RDWR), Err(libc::ENOENT));
    assert_eq!(open("/dev/infiniband/uverbs0", libc::O_RDWR), Err(libc::ENOENT));
    assert_eq!(open("/sys/class/infiniband/mlx5_0/ports/2/state", libc::O_RDONLY), Err(libc::ENOENT));
    assert_eq!(open("/sys/class/infiniband/mlx5_0/ports/1/state", libc::O_RDWR), Err(libc::EACCES));

    let file = umad(0, libc::O_NONBLOCK);
    let mut buffer = [0; 1024];
    assert_eq!(read(file, &mut buffer), Err(libc::EAGAIN));
    assert_eq!(read(file, &mut buffer[..10]), Err(libc::EINVAL));
    // SAFETY: nothing is to be read there.
    let written = |size| unsafe { libc::write(file, std::ptr::null(), size) };
    assert_eq!((written(0), errno(), written(320), errno()), (-1, libc::EINVAL, -1, libc::EFAULT));
    assert_eq!(ioctl(file, 0x1b09, &mut []), Err(libc::ENOTTY));
    assert_eq!(write(file, &[0; 91]), Err(libc::EINVAL), "short: 56 + 36 bytes are the least");
    let mut unknown_flag = [0; 40];
    unknown_flag[8..10].copy_from_slice(&[0x81, 1]);
    unknown_flag[12..16].copy_from_slice(&4_u32.to_ne_bytes());
    assert_eq!(ioctl(file, REGISTER_AGENT2, &mut unknown_flag), Err(libc::EINVAL));
    assert_eq!(unknown_flag[12..16], 1_u32.to_ne_bytes(), "the flags there are");
    assert_eq!(register(file, 2, 0x81, 1, 0, 0), Err(libc::EINVAL), "no such queue pair");
    assert_eq!(register(file, 1, 0x81, 1, 0, 0), Err(libc::EINVAL), "the wrong queue pair");
    assert_eq!(register(file, 0, 0x81, 1, 0, 1), Err(libc::EINVAL), "a class without RMPP");
    enable_p_key(file);
    assert_eq!(register(file, 0, 0x81, 1, 1 << 5, 0), Ok(0));
    assert_eq!(ioctl(file, ENABLE_PKEY, &mut []), Err(libc::EINVAL), "too late");
    let other = umad(0, 0);
    assert_eq!(register(other, 0, 0x81, 1, 1 << 5, 0), Err(libc::EINVAL), "another agent has the method");
    close(file);
    assert_eq!(register(other, 0, 0x81, 1, 1 << 5, 0), Ok(0), "closed is closed, at once");
    close(other);

    let file = directed(0, libc::O_NONBLOCK);
    for agent in 1..32 {
        assert_eq!(register(file, 0, 0x81, 1, 0, 0), Ok(agent));
    }
    assert_eq!(register(file, 0, 0x81, 1, 0, 0), Err(libc::ENOMEM));
    assert_eq!(ioctl(file, UNREGISTER_AGENT, &mut 31_u32.to_ne_bytes()), Ok(()));
    assert_eq!(ioctl(file, UNREGISTER_AGENT, &mut 31_u32.to_ne_bytes()), Err(libc::EINVAL));
    assert_eq!(write(file, &node_info(31, &[], 1, 100)), Err(libc::EIO), "no such agent");
    assert_eq!(write(file, &node_info(32, &[], 1, 100)), Err(libc::EINVAL), "no such number");
    assert_eq!(write(file, &node_info(0, &[9], 1, 100)), Err(libc::EINVAL), "another port's directed route");
    // Port 7 of the switch has no cable.
    let lost = node_info(0, &[1, 7], 1, 100);
    assert_eq!(write(file, &lost), Ok(lost.len()));
    assert_eq!(write(file, &lost), Err(libc::EINVAL), "the transaction waits");
    assert_eq!(poll(&[file], 20_000), [libc::POLLIN]);
    assert_eq!(read(file, &mut buffer[..64 + 23]), Err(libc::EINVAL), "short, and still there");
    assert_eq!(read(file, &mut buffer), Ok(64 + 24));
    assert_eq!((status(&buffer), transaction(&buffer)), (110, 1));
    assert_eq!(write(file, &node_info(0, &[], 2, 100)), Ok(64 + 256));
    assert_eq!(poll(&[file], 20_000), [libc::POLLIN]);
    assert_eq!(read(file, &mut buffer[..64 + 255]), Err(libc::EINVAL), "short, and still there");
    assert_eq!(read(file, &mut buffer), Ok(64 + 256));
    assert_eq!(guid(&buffer), 0xb1);
    assert_eq!(read(file, &mut buffer), Err(libc::EAGAIN));
}

/// A descriptor is the child's as well as the parent's.
fn forks() {
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) }, -1, "a program has no children but its own");
    let file = directed(0, 0);
    write(file, &node_info(0, &[], 1, 10_000)).unwrap();
    let mut buffer = [0; 1024];
    // SAFETY: there is one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        assert_eq!((read(file, &mut buffer), transaction(&buffer)), (Ok(320), 1), "what the parent asked");
        write(file, &node_info(0, &[1], 2, 10_000)).unwrap();
        assert_eq!((read(file, &mut buffer), transaction(&buffer)), (Ok(320), 2));
        // A file of its own.
        let own = directed(0, 0);
        write(own, &node_info(0, &[], 3, 10_000)).unwrap();
        assert_eq!((read(own, &mut buffer), transaction(&buffer)), (Ok(320), 3));
        // SAFETY: ends the child without what the parent has to do at its end.
        unsafe { libc::_exit(0) };
    }
    let mut ended = 0;
    // SAFETY: the number is of a size that the call wants.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut ended, 0) }, child);
    assert_eq!(ended, 0, "the child's checks");
    write(file, &node_info(0, &[], 4, 10_000)).unwrap();
    assert_eq!((read(file, &mut buffer), transaction(&buffer)), (Ok(320), 4));

    // As of a vfork: the child has the parent's memory, closes what it has, and starts another program.
    extern "C" fn close_all(_: *mut libc::c_void) -> libc::c_int {
        // SAFETY: nothing is used afterwards.
        unsafe {
            libc::dup2(2, 2_000);
            libc::close(3);
            libc::close_range(3, u32::MAX, 0)
        }
    }
    let mut stack = vec![0_u128; 1 << 16];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has a stack of its own, which grows downwards, and the parent waits until it has ended.
    let child = unsafe { libc::clone(close_all, stack.as_mut_ptr_range().end.cast(), flags, std::ptr::null_mut()) };
    // SAFETY: as above.
    assert_eq!((unsafe { libc::waitpid(child, &raw mut ended, 0) }, ended), (child, 0));
    write(file, &node_info(0, &[], 5, 10_000)).unwrap();
    assert_eq!(poll(&[file], 20_000), [libc::POLLIN], "the file is the parent's as before");
    assert_eq!((read(file, &mut buffer), transaction(&buffer)), (Ok(320), 5));
}

/// Several descriptors at once, of which some are nothing special.
fn polls() {
    let (one, other) = (directed(0, libc::O_NONBLOCK), directed(0, libc::O_NONBLOCK));
    let mut pipe = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let all = [one, pipe[0], other];
    assert_eq!(poll(&all, 0), [0, 0, 0]);
    write(pipe[1], b"x").unwrap();
    assert_eq!(poll(&all, 20_000), [0, libc::POLLIN, 0]);
    write(other, &node_info(0, &[], 1, 10_000)).unwrap();
    assert_eq!(poll(&[other], 20_000), [libc::POLLIN]);
    assert_eq!(poll(&all, 20_000), [0, libc::POLLIN, libc::POLLIN]);
    assert_eq!(read(pipe[0], &mut [0; 8]), Ok(1));
    assert_eq!(read(other, &mut [0; 1024]), Ok(320));
    assert_eq!(poll(&all, 0), [0, 0, 0]);

    // SAFETY: no pointers; then one event.
    let epoll = unsafe { libc::epoll_create1(0) };
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 5 };
    // SAFETY: the event is there for the call.
    assert_eq!(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, one, &raw mut event) }, 0);
    write(one, &node_info(0, &[], 1, 10_000)).unwrap();
    // SAFETY: room for one event.
    assert_eq!(unsafe { libc::epoll_wait(epoll, &raw mut event, 1, 20_000) }, 1);
    assert_eq!(read(one, &mut [0; 1024]), Ok(320));
    // A program can always send.
    let mut can_send = libc::pollfd { fd: one, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one element.
    assert_eq!(unsafe { libc::poll(&raw mut can_send, 1, 0) }, 1);
    assert_eq!(can_send.revents, libc::POLLOUT);
}

/// A read waits, for the kernel's time if need be, and no longer when that is no longer wanted.
fn blocks() {
    let file = directed(0, 0);
    let mut buffer = [0; 1024];
    let start = Instant::now();
    write(file, &node_info(0, &[1, 7], 1, 300)).unwrap();
    assert_eq!((read(file, &mut buffer), status(&buffer)), (Ok(64 + 24), 110));
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        (read(file, &mut buffer), transaction(&buffer))
    });
    write(file, &node_info(0, &[], 9, 10_000)).unwrap();
    assert_eq!(reader.join().unwrap(), (Ok(320), 9));
    // As programs read that were built with _FORTIFY_SOURCE.
    write(file, &node_info(0, &[], 10, 10_000)).unwrap();
    // SAFETY: the pointer and the length are those of an array.
    let length = unsafe { __read_chk(file, buffer.as_mut_ptr().cast(), buffer.len(), buffer.len()) };
    assert_eq!((length, transaction(&buffer)), (320, 10));
    // SAFETY: no pointers.
    unsafe { libc::fcntl(file, libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(read(file, &mut buffer), Err(libc::EAGAIN));
}

unsafe extern "C" {
    fn __read_chk(descriptor: RawFd, buffer: *mut libc::c_void, size: usize, room: usize) -> isize;
}

/// Two devices, each at its place.
fn devices() {
    let files = [directed(0, 0), directed(1, 0)];
    let mut buffer = [0; 1024];
    for (file, expected) in files.into_iter().zip([0xb1, 0xb2]) {
        write(file, &node_info(0, &[], 1, 10_000)).unwrap();
        assert_eq!(read(file, &mut buffer), Ok(320));
        assert_eq!(guid(&buffer), expected);
    }
    for (path, expected) in [
        ("/sys/class/infiniband/mlx5_0/node_guid", "0000:0000:0000:00b1\n"),
        ("/sys/class/infiniband/mlx5_1/node_guid", "0000:0000:0000:00b2\n"),
        ("/sys/class/infiniband_mad/umad1/ibdev", "mlx5_1\n"),
        ("/sys/class/infiniband_mad/issm1/port", "1\n"),
        ("/sys/class/infiniband_mad/abi_version", "5\n"),
    ] {
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected, "{path}");
    }
}

/// A copy is as good as the original, and the file is open as long as there is one.
fn duplicates() {
    let file = directed(0, 0);
    // SAFETY: no pointers.
    let copies = unsafe { [libc::dup(file), libc::dup2(file, 300), libc::fcntl(file, libc::F_DUPFD, 400)] };
    assert_eq!(copies[1..], [300, 400]);
    close(file);
    let mut buffer = [0; 1024];
    for (copy, transaction) in copies.into_iter().zip(1..) {
        write(copy, &node_info(0, &[], transaction, 10_000)).unwrap();
        assert_eq!(read(copy, &mut buffer), Ok(320));
        close(copy);
        assert_eq!(write(copy, &node_info(0, &[], 1, 0)), Err(libc::EBADF));
    }
    // The number is an ordinary file's next.
    let ordinary = open("/dev/null", libc::O_RDWR).unwrap();
    assert_eq!(write(ordinary, b"x"), Ok(1));
    // A program that closes all there may be goes on.
    for descriptor in 3..2_000 {
        // SAFETY: what is closed is not used afterwards.
        unsafe { libc::close(descriptor) };
    }
    let file = directed(0, 0);
    write(file, &node_info(0, &[], 1, 10_000)).unwrap();
    assert_eq!(read(file, &mut buffer), Ok(320));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::close_range(3, u32::MAX, 0) }, 0);
    let file = directed(0, 0);
    write(file, &node_info(0, &[], 1, 10_000)).unwrap();
    assert_eq!(read(file, &mut buffer), Ok(320));
}

/// More than 5 MB of subnet administration from umad1 to umad0 and back.
fn long_messages() {
    const GET_MULTI: u8 = 0x14;
    let [server_lid, client_lid] = ["mlx5_0", "mlx5_1"].map(|device| {
        let lid = std::fs::read_to_string(format!("/sys/class/infiniband/{device}/ports/1/lid")).unwrap();
        u16::from_str_radix(lid.trim().strip_prefix("0x").unwrap(), 16).unwrap()
    });
    let (server, client) = (umad(0, 0), umad(1, 0));
    enable_p_key(server);
    enable_p_key(client);
    let sa = register(server, 1, 3, 2, 1 << GET_MULTI, 1).unwrap();
    let agent = register(client, 1, 3, 2, 0, 1).unwrap();
    let mut message = vec![0; 56];
    message[..4].copy_from_slice(&[1, 3, 2, GET_MULTI]);
    message[15] = 7; // transaction
    message[17] = 0x35;
    message[26] = 1; // RMPP is active
    message.extend((0..5_400_000_u32).map(|at| (at * 13 + at / 251) as u8));
    let mut buffer = vec![0; 64 + 256];
    let mut received = |file: RawFd, sent: &[u8]| {
        let size = 64 + sent.len();
        assert_eq!(read(file, &mut buffer[..320]), Err(libc::ENOSPC));
        assert_eq!(buffer[16..20], (size as u32).to_ne_bytes(), "how much room there must be");
        assert_eq!(buffer[64 + 56..320], sent[56..256], "the first segment");
        buffer.resize(size, 0);
        assert_eq!(read(file, &mut buffer), Ok(size));
        assert!(buffer[64 + 36..] == sent[36..]);
        buffer[64..].to_vec()
    };
    let written = packet(agent, 20_000, 0, server_lid, 1, &message);
    assert_eq!(write(client, &written), Ok(written.len()));
    let mut answer = received(server, &message);
    answer[3] |= 0x80;
    answer[1_000_000] ^= 0xff;
    let written = packet(sa, 0, 0, client_lid, 1, &answer);
    assert_eq!(write(server, &written), Ok(written.len()));
    received(client, &answer);
}

/// One subnet manager a port.
fn issm() {
    let path = "/dev/infiniband/issm0";
    let mask = || {
        let text = std::fs::read_to_string("/sys/class/infiniband/mlx5_0/ports/1/cap_mask").unwrap();
        u32::from_str_radix(text.trim().strip_prefix("0x").unwrap(), 16).unwrap()
    };
    assert_eq!(mask() & 2, 0);
    let holder = open(path, libc::O_NONBLOCK).unwrap();
    assert_eq!(mask() & 2, 2, "IsSM");
    assert_eq!(open(path, libc::O_NONBLOCK), Err(libc::EAGAIN));
    assert_eq!((read(holder, &mut [0; 400]), write(holder, b"x")), (Err(libc::EINVAL), Err(libc::EINVAL)));
    // Whoever waits gets it when it is closed.
    let waiting = std::thread::spawn(move || open(path, libc::O_RDONLY).unwrap());
    assert_eq!(open(path, libc::O_NONBLOCK), Err(libc::EAGAIN));
    close(holder);
    let next = waiting.join().unwrap();
    assert_eq!((open(path, libc::O_NONBLOCK), mask() & 2), (Err(libc::EAGAIN), 2));
    close(next);
    let last = open(path, libc::O_NONBLOCK).unwrap();
    close(last);
}

/// Files and folders by other calls than open.
fn sysfs() {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let names = |folder: &str| {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("/sys/class/infiniband"), ["mlx5_0"]);
    assert_eq!(names("/sys/class/infiniband_mad/"), ["abi_version", "issm0", "umad0"]);
    assert_eq!(names("/dev/infiniband"), ["issm0", "umad0"]);
    assert_eq!(names("/sys/class/infiniband/mlx5_0/ports"), ["1"]);
    let device = std::fs::metadata("/dev/infiniband/issm0").unwrap();
    assert!(device.file_type().is_char_device());
    assert_eq!(device.rdev(), libc::makedev(231, 64));
    assert!(std::path::Path::new("/sys/class/infiniband/mlx5_0/ports/1/gids").is_dir());
    assert!(!std::path::Path::new("/sys/class/infiniband/mlx5_1").exists());

    // By stdio, as C programs read them.
    let (path, mode) = (c"/sys/class/infiniband/mlx5_0/ports/1/gids/0", c"r");
    let mut line = [0_u8; 64];
    // SAFETY: the path and the mode end with zeros, and there is room for as much as is said.
    unsafe {
        let file = libc::fopen(path.as_ptr(), mode.as_ptr());
        assert!(!file.is_null());
        assert!(!libc::fgets(line.as_mut_ptr().cast(), 64, file).is_null());
        libc::fclose(file);
    }
    assert_eq!(&line[..40], b"fe80:0000:0000:0000:0000:0000:0000:00b3\n");

    // Written here, read anywhere.
    let description = "/sys/class/infiniband/mlx5_0/node_desc";
    assert_eq!(std::fs::read_to_string(description).unwrap(), "H2\n");
    std::fs::OpenOptions::new().write(true).open(description).unwrap().write_all(b"renamed\n").unwrap();
    assert_eq!(std::fs::read_to_string(description).unwrap(), "renamed\n");
}

/// Waits with something open, to be killed.
fn waits() {
    let file = directed(0, 0);
    let _issm = open("/dev/infiniband/issm0", libc::O_NONBLOCK).unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = read(file, &mut [0; 1024]);
    panic!("nothing comes");
}
