//! Landlock for programs: what they may read and write, and no TCP, signals or abstract sockets to the outside.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::files::{RULES, degree, writing};
use crate::hello::Degree;
use crate::launcher::{Confinement, Network};

/// Without these a program could change files outside, by cutting them off.
const REQUIRED: ABI = ABI::V3;

/// What programs are made of, and what nearly all of them read. Of `/proc` only what tells of the program itself and of
/// the machine: the arguments of other processes are not for it. Nothing below the home folders.
const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/fs",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
];

/// Where output goes that nobody wants.
const WRITABLE: &[&str] = &["/dev/null"];

/// How far landlock holds, and the version of it that the kernel has.
pub(crate) fn restrict_program_files(
    confinement: &Confinement,
    program: Option<&Path>,
) -> Result<(Degree, i32), RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let writing: BitFlags<AccessFs> = writing() | AccessFs::Execute;
    let ruleset = Ruleset::default()
        // What a kernel must have is an error where it does not; what newer ones have on top is taken where it is.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))?
        .scope(Scope::from_all(RULES))?;
    let ruleset = match confinement.network {
        Network::Denied => ruleset.handle_access(AccessNet::from_all(RULES))?,
        Network::Allowed => ruleset,
    };
    let status = ruleset
        .create()?
        .add_rules(path_beneath_rules(readable(confinement, program), reading))?
        .add_rules(path_beneath_rules(writable(confinement), writing))?
        .restrict_self()?;
    let version = match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => kernel_abi.unwrap_or(effective_abi as i32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    };
    Ok((degree(&status.ruleset), version))
}

fn readable(confinement: &Confinement, program: Option<&Path>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    paths.extend(program.map(Path::to_owned));
    paths.extend_from_slice(&confinement.read);
    paths
}

fn writable(confinement: &Confinement) -> Vec<PathBuf> {
    WRITABLE.iter().map(PathBuf::from).chain(confinement.write.iter().cloned()).collect()
}
