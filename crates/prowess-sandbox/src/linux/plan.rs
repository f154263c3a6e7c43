//! Computes everything the child needs from a specification in advance, because the child must not
//! allocate.

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};

use super::grants::{self, Cleanup};
use super::set_up;
use super::sys;
use super::system::{self, HOME};
use super::view::{self, Bind, Rights, Step, View};
use crate::check;
use crate::error::SandboxError;
use crate::spec::{Network, SandboxLimits, Spec};

/// Everything the child needs.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) binds: Vec<Bind>,
    pub(super) steps: Vec<Step>,
    /// Rules for tmpfs files, which only exist in the child.
    pub(super) own_rules: Vec<(CString, u64)>,
    pub(super) ruleset: OwnedFd,
    pub(super) filter: &'static [libc::sock_filter],
    pub(super) limits: Vec<(libc::c_int, u64)>,
    /// The file descriptor limit that the child needs to open all binds.
    pub(super) descriptors: Option<u64>,
    pub(super) working_directory: CString,
    pub(super) ports: Vec<u16>,
    /// The temporary mount point of the new root: a folder that every machine has.
    pub(super) foothold: CString,
    /// What to do after the run.
    pub(super) afterwards: Cleanup,
}

/// A file without a rule: opening it must fail, otherwise the sandbox does not work.
pub(super) const SELF_TEST: &std::ffi::CStr = c"/.self-test";
/// The empty file below the new root.
pub(super) const EMPTY: &std::ffi::CStr = c".self-test";

impl Plan {
    pub(super) fn new(spec: &Spec, counted: bool) -> Result<Self, SandboxError> {
        let mut view = View::default();
        system::show(&mut view, spec.limits.scratch);
        view.text(Path::new("/.self-test"), b"");
        let mut afterwards = grants::show(&mut view, spec)?;
        for folder in &spec.support {
            let real = folder.canonicalize().map_err(|error| SandboxError::Grant {
                path: folder.clone(),
                reason: error.to_string(),
            })?;
            view.host(&real, &real, Rights::Library);
            if real != *folder && !view.shows(folder) {
                view.link(folder, &real);
            }
        }
        let mut images = Vec::new();
        for program in std::iter::once(&spec.program).chain(&spec.programs) {
            if !check::is_plain(program) {
                return Err(SandboxError::Invalid(format!(
                    "`{}` is not an absolute path",
                    program.display()
                )));
            }
            let image = system::show_program(&mut view, program)?;
            check::refuse_writable(spec, &image)?;
            images.push(image);
        }
        for file in &spec.hidden {
            if !check::is_plain(file) {
                return Err(SandboxError::Invalid(format!(
                    "`{}` is not an absolute path",
                    file.display()
                )));
            }
            view.hide(file);
        }
        for file in &spec.synthetic {
            if !check::is_plain(&file.path) {
                return Err(SandboxError::Invalid(format!(
                    "`{}` is not an absolute path",
                    file.path.display()
                )));
            }
            view.text(&file.path, &file.bytes);
        }
        if !check::is_plain(&spec.working_directory) {
            return Err(SandboxError::Invalid(format!(
                "the working directory `{}` is not an absolute path",
                spec.working_directory.display()
            )));
        }
        let needs_folder = !view.shows(&spec.working_directory)
            && !view.is_below_host(&spec.working_directory)
            && spec.working_directory != Path::new("/");
        afterwards.create_mount_points(&view)?;
        let mut own_rules = own_rules(&view)?;
        let (mut steps, binds) = view.steps()?;
        if needs_folder {
            add_empty_folder(&mut steps, &spec.working_directory)?;
        }
        let descriptors = descriptors(binds.len())?;
        let ports = match &spec.network {
            Network::None => Vec::new(),
            Network::Listeners(ports) if ports.len() > sys::MAX_SENT => {
                return Err(SandboxError::Invalid(format!("more than {} ports", sys::MAX_SENT)));
            }
            Network::Listeners(ports) => ports.clone(),
        };
        let ruleset = ruleset(&binds, &images, &ports)?;
        own_rules.push((c"/".to_owned(), AccessFs::ReadDir.into_bits()));
        let foothold =
            ["/tmp", "/usr", "/etc"].into_iter().find(|path| Path::new(path).is_dir()).ok_or_else(
                || SandboxError::Invalid("this machine has neither /tmp nor /usr".to_owned()),
            )?;
        Ok(Self {
            binds,
            steps,
            own_rules,
            ruleset,
            filter: super::filter::program(!ports.is_empty(), counted).map_err(|cause| {
                SandboxError::Unenforceable {
                    cause,
                    remedy: "this processor is not supported".to_owned(),
                }
            })?,
            descriptors,
            limits: limits(&spec.limits),
            working_directory: view::c_path(&spec.working_directory)?,
            ports,
            foothold: view::c_path(Path::new(foothold))?,
            afterwards,
        })
    }
}

trait IntoBits {
    fn into_bits(self) -> u64;
}

impl IntoBits for AccessFs {
    fn into_bits(self) -> u64 {
        BitFlags::from(self).bits()
    }
}

fn add_empty_folder(steps: &mut Vec<Step>, path: &Path) -> Result<(), SandboxError> {
    let mut folders: Vec<&Path> =
        path.ancestors().filter(|folder| folder.parent().is_some()).collect();
    folders.reverse();
    for folder in folders {
        let at = view::c_path(folder.strip_prefix("/").unwrap_or(folder))?;
        steps.push(Step::Folder(at));
    }
    Ok(())
}

/// The rules for tmpfs files.
fn own_rules(view: &View) -> Result<Vec<(CString, u64)>, SandboxError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = Vec::new();
    for path in ["/tmp", "/dev/shm", HOME] {
        rules.push((view::c_path(Path::new(path))?, write_rights().bits()));
    }
    rules.push((c"/proc".to_owned(), read.bits()));
    // A rule for the folder of the host does not apply to the overlay over it.
    for path in view.overlays() {
        rules.push((view::c_path(path)?, write_rights().bits()));
    }
    for path in view.texts().filter(|path| *path != Path::new("/.self-test")) {
        rules.push((view::c_path(path)?, AccessFs::ReadFile.into_bits()));
    }
    Ok(rules)
}

/// Write access without executing, and without creating sockets or devices.
fn write_rights() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V5)
        & !(AccessFs::Execute
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::MakeSock
            | AccessFs::IoctlDev)
}

/// The rules for files of the host. They apply to inodes, so they hold wherever these are mounted.
fn ruleset(binds: &[Bind], images: &[PathBuf], ports: &[u16]) -> Result<OwnedFd, SandboxError> {
    let all = |error: &dyn std::fmt::Display| refused(error);
    let abi = ABI::V6;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(abi)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(landlock::Ruleset::create)
        .map_err(|error| all(&error))?;
    let of_files = AccessFs::from_file(abi);
    for bind in binds.iter().filter(|bind| bind.overlay.is_none()) {
        let rights = match bind.rights {
            Rights::Read | Rights::Library => AccessFs::ReadFile | AccessFs::ReadDir,
            Rights::Image | Rights::Execute => {
                AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute
            }
            Rights::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
            Rights::Write => write_rights(),
        };
        let rights = if bind.is_folder { rights } else { rights & of_files };
        // The same inode that was checked: a rule for a replacement would open something else.
        let handle = bind.open()?;
        ruleset = add(ruleset, handle.as_fd(), &bind.path(), rights)?;
    }
    // An image may be in a folder that is visible for another reason; a loader is among the
    // libraries.
    for image in images.iter().chain(system::loaders()) {
        let handle = PathFd::new(image).map_err(|error| all(&error))?;
        ruleset = add(ruleset, handle.as_fd(), image, AccessFs::Execute | AccessFs::ReadFile)?;
    }
    for port in ports {
        ruleset = ruleset
            .add_rule(NetPort::new(*port, AccessNet::ConnectTcp))
            .map_err(|error| all(&error))?;
    }
    Option::<OwnedFd>::from(ruleset).ok_or_else(|| refused(&"the kernel has none"))
}

fn refused(reason: &dyn std::fmt::Display) -> SandboxError {
    SandboxError::Unenforceable {
        cause: format!("Landlock refuses a rule: {reason}"),
        remedy: "check what this kernel enforces".to_owned(),
    }
}

fn add(
    ruleset: landlock::RulesetCreated,
    handle: BorrowedFd<'_>,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, SandboxError> {
    ruleset
        .add_rule(PathBeneath::new(handle, rights))
        .map_err(|error| refused(&format!("{}: {error}", path.display())))
}

/// All binds are open at the same time, so thousands of grants need more descriptors than usual
/// (attack sandbox-A27). Returns the new limit if it has to be raised.
fn descriptors(binds: usize) -> Result<Option<u64>, SandboxError> {
    // Pipes, channels and whatever else is open at the same time.
    const OTHERS: u64 = 256;
    let (now, most) = sys::descriptor_limits()
        .map_err(|errno| set_up("resource limits", std::io::Error::from_raw_os_error(errno)))?;
    let needed = binds as u64 + OTHERS;
    if needed > most {
        return Err(SandboxError::Invalid(format!(
            "{binds} files and folders are granted one by one, which needs {needed} open descriptors; this process may have {most}"
        )));
    }
    Ok((needed > now).then_some(most))
}

fn limits(limits: &SandboxLimits) -> Vec<(libc::c_int, u64)> {
    #[expect(clippy::cast_possible_wrap, reason = "resources are small numbers")]
    let resource = |resource: libc::__rlimit_resource_t| resource as libc::c_int;
    let mut all = vec![
        (resource(libc::RLIMIT_CORE), 0),
        (resource(libc::RLIMIT_NOFILE), 1024),
        (resource(libc::RLIMIT_FSIZE), limits.file_size),
        (resource(libc::RLIMIT_NPROC), limits.processes),
        (resource(libc::RLIMIT_MSGQUEUE), 0),
        (resource(libc::RLIMIT_MEMLOCK), 0),
        (resource(libc::RLIMIT_NICE), 0),
        (resource(libc::RLIMIT_RTPRIO), 0),
        (resource(libc::RLIMIT_SIGPENDING), 1024),
    ];
    if let Some(cpu) = limits.cpu {
        all.push((resource(libc::RLIMIT_CPU), cpu.as_secs().max(1)));
    }
    all
}

/// Arguments and environment in shared memory, in the layout of `execve`.
#[derive(Debug)]
pub(super) struct ExecArguments {
    memory: sys::Shared,
}

/// The addresses of the path, the arguments and the environment come first.
const HEADER: usize = 3 * size_of::<usize>();

/// Space for the arguments and environment of a prepared sandbox, which are not known yet.
pub(super) const PREPARED_ARGUMENTS_BYTES: usize = 256 << 10;
/// The kernel accepts 2 MiB by default.
const MAX_ARGUMENTS_BYTES: usize = 2 << 20;

impl ExecArguments {
    /// Allocates memory for arguments that are provided later.
    pub(super) fn empty(size: usize) -> Result<Self, SandboxError> {
        let memory = sys::Shared::new(size).map_err(|errno| SandboxError::SetUp {
            stage: "memory for arguments",
            source: std::io::Error::from_raw_os_error(errno),
        })?;
        Ok(Self { memory })
    }

    /// The size of the arguments and environment, in bytes.
    pub(super) fn size(
        program: &Path,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> usize {
        let pointers = (arguments.len() + environment.len() + 3) * size_of::<usize>();
        let texts: usize = arguments.iter().map(|word| word.len() + 1).sum::<usize>()
            + environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>()
            + 2 * (program.as_os_str().len() + 1);
        HEADER + pointers + texts
    }

    /// Writes the arguments and environment.
    pub(super) fn fill(
        &mut self,
        program: &Path,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<(), SandboxError> {
        let size = Self::size(program, arguments, environment);
        if size > MAX_ARGUMENTS_BYTES || size > self.memory.bytes().len() {
            return Err(SandboxError::Invalid(
                "the arguments and the environment are too long".to_owned(),
            ));
        }
        let base = self.memory.address();
        let mut writer = Writer { bytes: self.memory.bytes(), base, pointers: HEADER, texts: 0 };
        writer.texts = HEADER + (arguments.len() + environment.len() + 3) * size_of::<usize>();
        let path_offset = writer.texts;
        writer.text(&[program.as_os_str().as_bytes()])?;
        let arguments_offset = writer.pointers;
        writer.word(&[program.as_os_str().as_bytes()])?;
        for word in arguments {
            writer.word(&[word.as_bytes()])?;
        }
        writer.null();
        let environment_offset = writer.pointers;
        for (name, value) in environment {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(SandboxError::Invalid(format!(
                    "`{}` is not a variable name",
                    name.display()
                )));
            }
            writer.word(&[name.as_bytes(), b"=", value.as_bytes()])?;
        }
        writer.null();
        writer.pointers = 0;
        for offset in [path_offset, arguments_offset, environment_offset] {
            writer.pointer(base + offset);
        }
        Ok(())
    }

    /// The address.
    pub(super) fn address(&self) -> usize {
        self.memory.address()
    }
}

struct Writer<'m> {
    bytes: &'m mut [u8],
    base: usize,
    pointers: usize,
    texts: usize,
}

impl Writer<'_> {
    fn text(&mut self, parts: &[&[u8]]) -> Result<(), SandboxError> {
        for part in parts {
            if part.contains(&0) {
                return Err(SandboxError::Invalid(
                    "an argument or a variable contains a NUL byte".to_owned(),
                ));
            }
            self.bytes[self.texts..self.texts + part.len()].copy_from_slice(part);
            self.texts += part.len();
        }
        self.bytes[self.texts] = 0;
        self.texts += 1;
        Ok(())
    }

    fn word(&mut self, parts: &[&[u8]]) -> Result<(), SandboxError> {
        let address = self.base + self.texts;
        self.pointer(address);
        self.text(parts)
    }

    fn null(&mut self) {
        self.pointer(0);
    }

    fn pointer(&mut self, address: usize) {
        let place = self.pointers..self.pointers + size_of::<usize>();
        self.bytes[place].copy_from_slice(&address.to_ne_bytes());
        self.pointers += size_of::<usize>();
    }
}

/// The numbers of descriptors that stay open in the child, sorted.
pub(super) fn sorted(descriptors: impl IntoIterator<Item = RawFd>) -> Vec<RawFd> {
    let mut all: Vec<RawFd> = descriptors.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The number of a descriptor.
pub(super) fn number(descriptor: &OwnedFd) -> RawFd {
    descriptor.as_raw_fd()
}
