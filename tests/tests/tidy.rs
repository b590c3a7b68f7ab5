//! Rules of the house that the compiler does not hold.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The core: no clock, thread, random source or I/O.
const CORE: [&str; 4] = ["heddle-fabric", "heddle-engines", "heddle-verify", "heddle-sm"];

/// The only crates with unsafe code; in the first, everything but one module denies it.
const UNSAFE: [&str; 2] = ["heddle-mad", "heddle-preload"];

struct Package {
    root: PathBuf,
    /// The dependencies that are built into it: neither those of its tests nor those of its build script.
    dependencies: Vec<String>,
    /// The roots of its libraries and programs.
    crate_roots: Vec<PathBuf>,
}

/// The packages of the workspace, by name.
fn packages() -> BTreeMap<String, Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(repository())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let root = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
            let dependencies =
                list(&package["dependencies"]).iter().filter(|dep| dep["kind"].is_null()).map(|dep| text(&dep["name"])).collect();
            let is_product =
                |target: &&Value| list(&target["kind"]).iter().any(|kind| ["lib", "bin", "cdylib"].contains(&kind.as_str().unwrap()));
            let crate_roots =
                list(&package["targets"]).iter().filter(is_product).map(|target| PathBuf::from(text(&target["src_path"]))).collect();
            (text(&package["name"]), Package { root, dependencies, crate_roots })
        })
        .collect()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All files of the project with one of these endings, this folder's build products and hidden folders left out.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 5, "the project is not where this test looks");
    found.sort();
    found
}

/// What `package` is built of within the workspace, itself included.
fn closure<'a>(packages: &'a BTreeMap<String, Package>, package: &'a str) -> Vec<&'a str> {
    let mut reached = vec![package];
    let mut next = 0;
    while let Some(&name) = reached.get(next) {
        next += 1;
        for dependency in &packages[name].dependencies {
            if packages.contains_key(dependency) && !reached.contains(&dependency.as_str()) {
                reached.push(dependency);
            }
        }
    }
    reached
}

#[test]
fn dependencies_go_one_way() {
    let packages = packages();
    let needs = |package| closure(&packages, package);
    assert_eq!(needs("heddle-fabric"), ["heddle-fabric"]);
    assert_eq!(needs("heddle-mad"), ["heddle-mad"]);
    // The verifier shares nothing with the engines but the types of the fabric.
    assert_eq!(needs("heddle-verify"), ["heddle-verify", "heddle-fabric"]);
    assert_eq!(needs("heddle-engines"), ["heddle-engines", "heddle-fabric"]);
    for tool in ["heddle", "heddle-formats", "heddle-emulator"] {
        for package in packages.keys().filter(|&package| package != "heddle" && package != "heddle-tests") {
            assert!(tool == package || !packages[package].dependencies.iter().any(|dep| dep == tool), "{package} must not need {tool}");
        }
    }
}

#[test]
fn the_core_has_no_access_to_the_system() {
    let packages = packages();
    for core in CORE {
        for dependency in &packages[core].dependencies {
            assert!(!["nix", "libc", "crossbeam", "tempfile", "signal-hook"].contains(&dependency.as_str()), "{core} needs {dependency}");
        }
    }
}

/// The emulator is a state machine like the core, but for its server.
#[test]
fn the_emulator_does_io_in_its_server_only() {
    let sources = repository().join("tools/emulator/src");
    let is_pure = |file: &PathBuf| file.starts_with(&sources) && !file.starts_with(sources.join("serve"));
    let pure: Vec<PathBuf> = files(&["rs"]).into_iter().filter(is_pure).collect();
    assert!(pure.contains(&sources.join("world.rs")));
    for file in pure {
        let text = fs::read_to_string(&file).unwrap();
        for name in ["std::net", "std::os", "std::fs", "std::thread", "std::process", "nix::", "Instant::now", "SystemTime", "Clock"] {
            assert!(!text.contains(name), "{} has {name}", file.display());
        }
    }
}

#[test]
fn clippy_watches_the_core() {
    let packages = packages();
    let configuration = |package: &Package| {
        let nearest = package.root.ancestors().map(|folder| folder.join("clippy.toml")).find(|file| file.exists());
        fs::read_to_string(nearest.expect("a clippy.toml at the package or above it")).unwrap()
    };
    let expected = configuration(&packages["heddle-sm"]);
    for method in ["Instant::now", "SystemTime::now", "thread::sleep", "HashMap::iter", "HashSet::iter"] {
        assert!(expected.contains(method), "{method} is not disallowed");
    }
    for package in CORE.iter().chain(&[UNSAFE[0]]) {
        assert_eq!(configuration(&packages[*package]), expected, "{package}");
    }
}

#[test]
fn unsafe_code_is_forbidden() {
    for (name, package) in packages() {
        for root in &package.crate_roots {
            let forbids = fs::read_to_string(root).unwrap().contains("#![forbid(unsafe_code)]");
            assert_eq!(forbids, !UNSAFE.contains(&name.as_str()), "{}", root.display());
        }
    }
    let lowered: Vec<_> = files(&[".rs"])
        .into_iter()
        .filter(|file| !file.ends_with("tests/tests/tidy.rs") && fs::read_to_string(file).unwrap().contains("allow(unsafe_code"))
        .collect();
    for file in &lowered {
        let place = file.strip_prefix(repository()).unwrap();
        let may = ["mad/src/transport", "tools/preload"].iter().any(|folder| place.starts_with(folder));
        assert!(may, "{} allows unsafe code", place.display());
    }
}

#[test]
fn files_are_short() {
    for file in files(&[".rs"]) {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 800, "{} has {lines} lines: split it", file.display());
    }
}

#[test]
fn every_crate_explains_itself() {
    for package in packages().values() {
        for root in &package.crate_roots {
            let docs = fs::read_to_string(root).unwrap().lines().take_while(|line| line.starts_with("//!")).count();
            let wanted = if package.root == Path::new(env!("CARGO_MANIFEST_DIR")) { 1 } else { 4 };
            assert!(docs >= wanted, "{} says too little about its crate", root.display());
        }
    }
}

/// A clone must build and mean the same everywhere: no path of one machine, no registry or mirror of one site.
#[test]
fn nothing_names_one_machine() {
    for file in files(&[".rs", ".toml", ".md", ".lock", "run", "install-debian-packages"]) {
        if file.ends_with("tests/tests/tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for (index, line) in text.lines().enumerate() {
            for bad in ["/root/", "/home/", "/work/", "localhost:"] {
                assert!(!line.contains(bad), "{}:{}: {bad}", file.display(), index + 1);
            }
            let is_lock = file.ends_with("Cargo.lock");
            let usual = line.contains("registry+https://github.com/rust-lang/crates.io-index");
            assert!(!is_lock || !line.starts_with("source = ") || usual, "{}:{}: unusual registry", file.display(), index + 1);
        }
    }
}
