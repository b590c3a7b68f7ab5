use crate::Outcome;
use crate::out::Out;
use anyhow::{Context, bail};
use heddle_emulator::serve::{Programs, VisibleDevice};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::ffi::{OsStr, OsString};
use std::fs::{create_dir_all, write};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Run a program that takes an emulated fabric for the InfiniBand of this machine
///
/// The program sees a device (mlx5_0, mlx5_1, ...) for each NODE, in /sys/class/infiniband and as /dev/infiniband/umadN, with which OpenSM,
/// infiniband-diags, ibutils and everything else that is built on libibumad work as they do on hardware. Statically linked programs are not
/// reached: they do not see the fabric.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The emulator to run on, as named in `heddle emulate --name`
    #[arg(long, value_name = "NAME")]
    on: String,

    /// The node to run at, by description or GUID; all its ports, or the one given. Several make several devices [default: the first host]
    #[arg(long = "node", value_name = "NODE[:PORT]")]
    nodes: Vec<String>,

    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  heddle emulate gen:clos2:8 --name site &
  heddle run --on site -- opensm
  heddle run --on site --node host3 -- ibnetdiscover
  heddle run --on site --node host0 --node host1 -- ibstat

The exit status is that of the program.
";

/// The process that removes the folder is called so: not for users.
pub(crate) const CLEANER: &str = "run-cleaner";

impl Arguments {
    /// Becomes the program. Returns only if it cannot be started.
    pub(crate) fn run(self, _: &mut Out) -> anyhow::Result<Outcome> {
        let library = library()?;
        let server = Programs::connect(&self.on)?;
        let first_host = [String::new()];
        let nodes = if self.nodes.is_empty() { &first_host[..] } else { &self.nodes };
        let devices = nodes.iter().map(|node| server.device(node)).collect::<Result<Vec<_>, _>>()?;
        let folder = tempfile::Builder::new().prefix("heddle-run-").tempdir().context("cannot make a folder for the devices")?;
        lay_out(folder.path(), &devices).with_context(|| format!("cannot make the devices in {}", folder.path().display()))?;

        let numbers = devices.iter().map(|device| device.ports.iter().fold(device.node.to_string(), |line, port| format!("{line} {port}")));
        let others = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty());
        let preload = [Some(library.into_os_string()), others].into_iter().flatten().collect::<Vec<_>>().join(OsStr::new(":"));
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .env("LD_PRELOAD", preload)
            .env("HEDDLE_UMAD_NAME", &self.on)
            .env("HEDDLE_UMAD_ROOT", folder.path())
            .env("HEDDLE_UMAD_DEVICES", numbers.collect::<Vec<_>>().join(";"));
        // Nothing of ours is left in the way of signals and of the exit status: the program takes the place of this process.
        let _until_the_end = leave_to_cleaner(folder)?;
        Err(command.exec()).with_context(|| format!("cannot start {}", self.command[0].display()))
    }
}

/// Where the preload library is: beside this program, or where a package puts it.
fn library() -> anyhow::Result<PathBuf> {
    const FILE: &str = "libheddle_umad.so";
    let program = std::env::current_exe().context("cannot find out where this program is")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(FILE), folder.join("../lib/heddle").join(FILE)];
    let Some(found) = places.iter().find(|path| path.is_file()) else {
        let tried: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        bail!("the preload library is neither at {}; build it: cargo build --release", tried.join(" nor at "));
    };
    let path = found.canonicalize().with_context(|| found.display().to_string())?;
    // The loader takes both for the end of a name.
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| b": ".contains(byte)) {
        bail!("{}: the loader cannot preload a library with a space or a colon in its path", path.display());
    }
    Ok(path)
}

/// Makes the files and folders that a program finds when it looks for devices. What they say, it asks the emulator.
fn lay_out(root: &Path, devices: &[VisibleDevice]) -> std::io::Result<()> {
    let (class, files) = (root.join("sys/class/infiniband"), root.join("dev/infiniband"));
    let mads = root.join("sys/class/infiniband_mad");
    for folder in [&class, &mads, &files] {
        create_dir_all(folder)?;
    }
    // `IB_USER_MAD_ABI_VERSION` of all kernels since 2.6.12.
    write(mads.join("abi_version"), "5\n")?;
    let mut number = 0;
    for (index, device) in devices.iter().enumerate() {
        let name = format!("mlx5_{index}");
        for attribute in &device.attributes {
            let path = class.join(&name).join(attribute);
            create_dir_all(path.parent().unwrap_or(&class))?;
            write(path, "")?;
        }
        for port in &device.ports {
            // Character devices 231:N (`drivers/infiniband/core/user_mad.c`).
            for (kind, minor) in [("umad", number), ("issm", 64 + number)] {
                let folder = mads.join(format!("{kind}{number}"));
                create_dir_all(&folder)?;
                write(folder.join("ibdev"), format!("{name}\n"))?;
                write(folder.join("port"), format!("{port}\n"))?;
                write(folder.join("dev"), format!("231:{minor}\n"))?;
                write(files.join(format!("{kind}{number}")), "")?;
            }
            number += 1;
        }
    }
    Ok(())
}

/// Leaves the folder to a process that removes it when the program and all that it started have ended, however they ended: what is returned
/// is then closed, in the last of them.
fn leave_to_cleaner(folder: TempDir) -> anyhow::Result<impl Sized> {
    let (end, held) = std::io::pipe().context("cannot make a pipe")?;
    let cleaner = std::env::current_exe().context("cannot find out where this program is")?;
    // By way of a process that ends at once: the program must not have a child that it knows nothing of.
    let started = Command::new(cleaner)
        .args([CLEANER, "--start"])
        .arg(folder.path())
        .stdin(end)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context(CANNOT_START)?;
    if !started.success() {
        bail!(CANNOT_START);
    }
    fcntl(held.as_fd(), FcntlArg::F_SETFD(FdFlag::empty())).context("cannot hand a pipe over")?;
    let _ = folder.keep();
    Ok(held)
}

const CANNOT_START: &str = "cannot start the process that removes the folder of the devices in the end";

/// The other process: waits for the end and removes the folder.
#[derive(clap::Args)]
pub(crate) struct Cleaner {
    /// Start another one to do it.
    #[arg(long)]
    start: bool,
    folder: PathBuf,
}

impl Cleaner {
    pub(crate) fn run(self, _: &mut Out) -> anyhow::Result<Outcome> {
        if self.start {
            let mut cleaner = Command::new(std::env::current_exe()?);
            // Of a group of its own, so that a signal from the terminal does not reach it.
            cleaner.arg(CLEANER).arg(self.folder).process_group(0).spawn()?;
            return Ok(Outcome::Fine);
        }
        // Nobody writes.
        let _ = std::io::stdin().read(&mut [0; 1]);
        std::fs::remove_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        Ok(Outcome::Fine)
    }
}
