//! Which port of which device, from sysfs.

use super::TransportError;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

const MAD_CLASS: &str = "/sys/class/infiniband_mad";
const DEVICE_CLASS: &str = "/sys/class/infiniband";
/// `IB_USER_MAD_ABI_VERSION` of all kernels since 2.6.12.
const ABI_VERSION: &str = "5";
/// Bit 10 of the CapabilityMask: IsSMdisabled (IBA 14.2.5.6).
const IS_SM_DISABLED: u32 = 1 << 10;

/// A port that has a device file for management datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Port {
    /// N of `umadN` and `issmN`.
    pub(super) number: u32,
    pub(super) device: String,
    pub(super) port: String,
    /// Absent in kernels that know InfiniBand only, and in simulations.
    link_layer: Option<String>,
    /// "5: LinkUp" and the like.
    physical_state: String,
    guid: u64,
    capability_mask: u32,
    /// What runs the device; "simulator" for ibsim's preload library.
    pub(super) hca_type: String,
}

impl Port {
    /// Why a subnet manager cannot run on it.
    fn unfit(&self) -> Option<&'static str> {
        if self.link_layer.as_deref().is_some_and(|layer| layer != "InfiniBand") {
            Some("its link layer is not InfiniBand")
        } else if self.guid == 0 {
            Some("it has no port GUID")
        } else if self.capability_mask & IS_SM_DISABLED != 0 {
            Some("its firmware does not allow a subnet manager (IsSMdisabled)")
        } else {
            None
        }
    }

    fn is_up(&self) -> bool {
        self.physical_state.starts_with("5:")
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.physical_state.split(": ").last().unwrap_or_default();
        write!(f, "{}:{} (GUID {:#018x}, {state})", self.device, self.port, self.guid)
    }
}

/// The port named (`DEVICE` or `DEVICE:PORT`), or the only sensible one.
pub(super) fn find(wanted: Option<&str>) -> Result<Port, TransportError> {
    let ports = ports()?;
    choose(&ports, wanted).cloned().map_err(TransportError::Other)
}

fn choose<'a>(ports: &'a [Port], wanted: Option<&str>) -> Result<&'a Port, String> {
    let (device, number) = match wanted.and_then(|wanted| wanted.split_once(':')) {
        Some((device, port)) => (Some(device), Some(port)),
        None => (wanted, None),
    };
    let named: Vec<&Port> =
        ports.iter().filter(|port| device.is_none_or(|d| port.device == d) && number.is_none_or(|n| port.port == n)).collect();
    let list = |ports: &[&Port]| ports.iter().map(|port| format!("\n  {port}")).collect::<String>();
    if named.is_empty() {
        return Err(match wanted {
            Some(wanted) if !ports.is_empty() => {
                format!("there is no port {wanted}; the ports are:{}", list(&ports.iter().collect::<Vec<_>>()))
            }
            _ => format!("{MAD_CLASS} lists no port: this machine has no InfiniBand adapter, or its driver is not loaded"),
        });
    }
    let fit: Vec<&Port> = named.iter().copied().filter(|port| port.unfit().is_none()).collect();
    let up: Vec<&Port> = fit.iter().copied().filter(|port| port.is_up()).collect();
    match (fit.as_slice(), up.as_slice()) {
        (&[port], _) | (_, &[port]) => Ok(port),
        ([], _) => {
            let reasons = named.iter().map(|port| format!("\n  {port}: {}", port.unfit().unwrap_or_default()));
            Err(format!("no port can be used for subnet management:{}", reasons.collect::<String>()))
        }
        _ => Err(format!("several ports could be meant; name one as DEVICE:PORT:{}", list(&fit))),
    }
}

fn ports() -> Result<Vec<Port>, TransportError> {
    let failed = |what: String| move |source| TransportError::Io { what, source };
    let entries = match std::fs::read_dir(MAD_CLASS) {
        Ok(entries) => entries,
        Err(source) => {
            let what = format!("{MAD_CLASS}: no management datagrams here; is the kernel module ib_umad loaded (`modprobe ib_umad`)?");
            return Err(TransportError::Io { what, source });
        }
    };
    let version = read(&format!("{MAD_CLASS}/abi_version")).map_err(failed(format!("{MAD_CLASS}/abi_version")))?;
    if version != ABI_VERSION {
        return Err(TransportError::Other(format!("{MAD_CLASS}/abi_version is {version}; only version {ABI_VERSION} is known")));
    }
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed(MAD_CLASS.to_owned()))?;
        numbers.extend(entry.file_name().to_str().and_then(|name| name.strip_prefix("umad")?.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    // A device that goes away in between is left out.
    Ok(numbers.into_iter().filter_map(|number| port(number).ok()).collect())
}

fn port(number: u32) -> io::Result<Port> {
    let device = read(&format!("{MAD_CLASS}/umad{number}/ibdev"))?;
    let port = read(&format!("{MAD_CLASS}/umad{number}/port"))?;
    let at = |name: &str| read(&format!("{DEVICE_CLASS}/{device}/ports/{port}/{name}"));
    Ok(Port {
        number,
        link_layer: at("link_layer").ok(),
        physical_state: at("phys_state").unwrap_or_default(),
        guid: at("gids/0").ok().and_then(|gid| guid(&gid)).unwrap_or(0),
        capability_mask: at("cap_mask").ok().and_then(|mask| hexadecimal(&mask)).unwrap_or(0),
        hca_type: read(&format!("{DEVICE_CLASS}/{device}/hca_type")).unwrap_or_default(),
        device,
        port,
    })
}

/// The lower half of a GID written as eight groups.
fn guid(gid: &str) -> Option<u64> {
    let groups: Vec<&str> = gid.split(':').collect();
    u64::from_str_radix(&groups.get(4..8)?.concat(), 16).ok()
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// Not `std::fs::read_to_string`: that calls `open64`, which ibsim's preload library does not redirect.
fn read(path: &str) -> io::Result<String> {
    let mut text = String::new();
    File::from(open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(device: &str, number: &str, state: &str) -> Port {
        Port {
            device: device.to_owned(),
            port: number.to_owned(),
            link_layer: Some("InfiniBand".to_owned()),
            physical_state: state.to_owned(),
            guid: 0xa,
            ..Port::default()
        }
    }

    #[test]
    fn the_only_port_that_makes_sense_needs_no_name() {
        let mut ethernet = port("mlx5_1", "1", "5: LinkUp");
        ethernet.link_layer = Some("Ethernet".to_owned());
        let mut no_guid = port("mlx5_2", "1", "5: LinkUp");
        no_guid.guid = 0;
        let ports = [ethernet, no_guid, port("mlx5_0", "1", "3: Disabled")];
        assert_eq!(choose(&ports, None).unwrap().device, "mlx5_0");
        let error = choose(&ports, Some("mlx5_1")).unwrap_err();
        assert!(error.contains("mlx5_1:1") && error.contains("link layer"), "{error}");
    }

    #[test]
    fn of_several_the_one_that_is_up_or_none() {
        let mut ports = vec![port("mlx5_0", "1", "2: Polling"), port("mlx5_0", "2", "5: LinkUp")];
        assert_eq!(choose(&ports, None).unwrap().port, "2");
        assert_eq!(choose(&ports, Some("mlx5_0:1")).unwrap().port, "1");
        ports.push(port("mlx5_1", "1", "5: LinkUp"));
        let error = choose(&ports, None).unwrap_err();
        assert!(["mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "LinkUp"].iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(choose(&ports, Some("mlx5_1")).unwrap().device, "mlx5_1");
    }

    #[test]
    fn names_that_do_not_exist() {
        let ports = [port("mlx5_0", "1", "5: LinkUp")];
        for wanted in ["mlx5_0:2", "mlx5", "", ":", "mlx5_0:1:1"] {
            let error = choose(&ports, Some(wanted)).unwrap_err();
            assert!(error.contains("mlx5_0:1"), "{error}");
        }
        assert!(choose(&[], None).unwrap_err().contains("no InfiniBand adapter"));
    }

    #[test]
    fn numbers_as_the_kernel_writes_them() {
        assert_eq!(guid("fe80:0000:0000:0000:0c42:a103:0065:bafe"), Some(0x0c42_a103_0065_bafe));
        assert_eq!(guid("fe80::1"), None);
        assert_eq!((hexadecimal("0x2651e848"), hexadecimal("a"), hexadecimal("")), (Some(0x2651_e848), Some(10), None));
    }
}
