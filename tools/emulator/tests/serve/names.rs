use crate::support::*;
use heddle_emulator::World;
use heddle_emulator::serve::{ServeError, Server};
use heddle_mad::transport::{Ibsim, Transport};

#[test]
fn a_name_is_had_once_and_free_at_once() {
    let server = Running::start();
    let fabric = heddle_fabric::generate("ring:4,hosts=1").unwrap().build();
    let error = Server::open(World::new(&fabric), &server.name, |_| {}).unwrap_err();
    assert!(matches!(error, ServeError::NameTaken { .. }) && error.to_string().contains(&server.name), "{error}");
    let name = server.name.clone();
    let mut orphan = server.client("host-0-0");
    drop(server);

    let again = Running::named(name.clone());
    assert_served(&mut again.client("host-0-0"));
    // A client of the former server hears that it is gone.
    ask_fails(&mut orphan);
    drop(again);
    let error = Ibsim::connect(&name, None).unwrap_err().to_string();
    assert!(error.contains("nothing listens"), "{error}");
}

fn ask_fails(client: &mut Ibsim) {
    use heddle_mad::transport::{Address, Envelope};
    let error = client.send(&Envelope { address: Address::Directed, mad: node_info(1) }).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}

#[test]
fn names_that_are_none_are_refused() {
    let fabric = heddle_fabric::generate("ring:4,hosts=1").unwrap().build();
    for name in ["", "a:b", "a\0b", &"x".repeat(81)] {
        let error = Server::open(World::new(&fabric), name, |_| {}).unwrap_err();
        assert!(matches!(error, ServeError::BadName { .. }), "{error}");
    }
}

#[test]
fn a_node_is_called_in_many_ways() {
    let server = Running::start();
    let fabric = heddle_fabric::generate("clos2:8").unwrap().build();
    let host = fabric.nodes().iter().find(|node| node.description == "host-0-2").unwrap();
    let leaf = fabric.nodes().iter().find(|node| node.description == "leaf-1").unwrap();
    let guid = |node: &heddle_fabric::Node| format!("{:016x}", node.guid.0);
    for (name, description) in [
        ("host-0-2".to_owned(), "host-0-2"),
        ("host-0-2:1".to_owned(), "host-0-2"),
        (format!("0x{}", guid(host)), "host-0-2"),
        (format!("H-{}", guid(host)), "host-0-2"),
        ("leaf-1".to_owned(), "leaf-1"),
        (format!("S-{}:0", guid(leaf)), "leaf-1"),
        (String::new(), "host-0-0"),
    ] {
        let client = Raw::connect(&server.name, &name, false).unwrap_or_else(|| panic!("{name:?}: {}", server.told()));
        client.send(heddle_mad::wire::Mad::directed(
            &heddle_mad::wire::Path::local(),
            heddle_mad::wire::Method::GET,
            <heddle_mad::wire::NodeDescription as heddle_mad::wire::Attribute>::ID,
            0,
        ));
        let data = client.receive().unwrap().mad.smp_data();
        let end = data.iter().position(|&byte| byte == 0).unwrap();
        assert_eq!(data[..end], *description.as_bytes(), "{name:?}");
    }
    for (name, why) in [("nobody", "no node"), ("host-0-2:9", "ports 1 to"), ("leaf-1:3", "port 0"), ("host-0-2:x", "no node")] {
        assert!(Raw::connect(&server.name, name, false).is_none(), "{name:?}");
        server.wait_until_told(why);
    }
    assert_served(&mut server.client("host-0-0"));
}
