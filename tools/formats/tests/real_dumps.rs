//! Public dumps of real fabrics, which are no part of the project: `$HEDDLE_FABRICS` or `../shared/fabrics` beside the clone. The counts
//! are those of that collection's own table.

use heddle_fabric::{Fabric, NodeKind, PortRef};
use heddle_formats::{Format, WarningKind, read};
use std::io::Write;
use std::path::PathBuf;

/// File, format, switches, CAs (with and without a record), cables, cables between switch ports.
type Row = (&'static str, Format, usize, usize, usize, Option<usize>);

const TABLE: [Row; 19] = [
    ("superpod-hdr-666sw.ibnetdiscover", Format::Ibnetdiscover, 666, 4341, 12852, Some(8511)),
    ("superpod-storage-hdr-160sw.ibnetdiscover", Format::Ibnetdiscover, 160, 1247, 3286, Some(2039)),
    ("director-hdr-400sw-unconfigured.ibnetdiscover", Format::Ibnetdiscover, 400, 2328, 8723, Some(6395)),
    ("lab-mixed-speed-2sw.ibnetdiscover", Format::Ibnetdiscover, 2, 13, 16, Some(3)),
    ("gb200-ndr-40sw.ibnetdiscover", Format::Ibnetdiscover, 40, 582, 1114, Some(532)),
    ("single-ca-no-link.ibnetdiscover", Format::Ibnetdiscover, 0, 1, 0, Some(0)),
    ("fdr10-two-spine-8sw.ibnetdiscover", Format::Ibnetdiscover, 8, 144, 192, Some(47)),
    ("qdr-ddr-11sw.ibnetdiscover", Format::Ibnetdiscover, 11, 89, 159, Some(70)),
    ("doc-sdr-lmc1-2sw.ibnetdiscover", Format::Ibnetdiscover, 2, 4, 7, Some(2)),
    ("doc-sdr-1sw.ibnetdiscover", Format::Ibnetdiscover, 1, 2, 2, Some(0)),
    ("doc-edr-errline-2sw.ibnetdiscover", Format::Ibnetdiscover, 2, 6, 10, Some(4)),
    ("doc-qdr-noblank-1sw.ibnetdiscover", Format::Ibnetdiscover, 1, 1, 1, Some(0)),
    ("director-slice-hdr-8sw-truncated.ibnetdiscover", Format::Ibnetdiscover, 8, 11, 18, Some(7)),
    ("oneline-1.ibnetdiscover-p", Format::IbnetdiscoverPorts, 4, 3, 4, None),
    ("ibsim/net", Format::IbsimNetlist, 2, 2, 4, None),
    ("ibsim/net.1", Format::IbsimNetlist, 1, 2, 2, None),
    ("ibsim/net.2sw2path", Format::IbsimNetlist, 2, 2, 4, None),
    ("ibsim/net.2sw2path4hca", Format::IbsimNetlist, 2, 4, 6, None),
    ("ibsim/net.2sw2path4hca2port", Format::IbsimNetlist, 2, 2, 6, None),
];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HEDDLE_FABRICS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fabrics"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    // Not `eprintln!`, which is shown for failed tests only.
    writeln!(std::io::stderr().lock(), "NOT TRIED: the real dumps are neither in $HEDDLE_FABRICS nor in {}", folder.display()).unwrap();
    None
}

fn counts(fabric: &Fabric) -> (usize, usize, usize, usize) {
    let of_kind = |kind| fabric.nodes().iter().filter(|node| node.kind == kind).count();
    let (mut ends, mut switch_ends) = (0, 0);
    for (index, node) in fabric.nodes().iter().enumerate() {
        for port in 1..=node.num_ports {
            let at = PortRef::new(heddle_fabric::NodeIndex(index as u32), port);
            let Some(peer) = fabric.port(at).and_then(|port| port.peer) else { continue };
            ends += 1;
            if node.kind == NodeKind::Switch && fabric.node(peer.node).kind == NodeKind::Switch {
                switch_ends += 1;
            }
        }
    }
    (of_kind(NodeKind::Switch), of_kind(NodeKind::Ca), ends / 2, switch_ends / 2)
}

#[test]
fn counts_are_those_of_the_table() {
    let Some(folder) = folder() else { return };
    for (file, format, switches, cas, cables, between_switches) in TABLE {
        let bytes = std::fs::read(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let start = std::time::Instant::now();
        let loaded = read(&bytes, file, None).unwrap();
        eprintln!("{file}: {:?} {:#?}", start.elapsed(), loaded.warnings.summary());
        assert_eq!(loaded.format, format, "{file}");
        let found = counts(&loaded.builder.build());
        assert_eq!((found.0, found.1, found.2), (switches, cas, cables), "{file}");
        if let Some(between_switches) = between_switches {
            assert_eq!(found.3, between_switches, "{file}");
        }
    }
}

#[test]
fn oddities_are_reported() {
    let Some(folder) = folder() else { return };
    let warnings = |file: &str| read(&std::fs::read(folder.join(file)).unwrap(), file, None).unwrap().warnings;
    let unconfigured = warnings("director-hdr-400sw-unconfigured.ibnetdiscover");
    assert_eq!(unconfigured.count(WarningKind::UnassignedLid), 631 + 1);
    assert_eq!(unconfigured.count(WarningKind::SkippedLine), 2, "banner and prompt");
    assert_eq!(warnings("doc-edr-errline-2sw.ibnetdiscover").count(WarningKind::ToolError), 1);
    assert_eq!(warnings("doc-sdr-lmc1-2sw.ibnetdiscover").count(WarningKind::LinkDiffers), 2);
    assert_eq!(warnings("director-slice-hdr-8sw-truncated.ibnetdiscover").count(WarningKind::UnknownNode), 1);
    assert_eq!(warnings("oneline-2.ibnetdiscover-p").count(WarningKind::ConflictingNode), 1);
    for clean in ["superpod-hdr-666sw", "superpod-storage-hdr-160sw", "gb200-ndr-40sw", "fdr10-two-spine-8sw", "qdr-ddr-11sw"] {
        assert!(warnings(&format!("{clean}.ibnetdiscover")).is_empty(), "{clean}");
    }
}
