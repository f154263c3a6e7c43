//! Everything about a call that can be known before anybody is asked and anything is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prowess_core::Remedy;
use prowess_format::eligibility::{self, MachineFacts};
use prowess_format::permission::Domain;
use prowess_format::skill::{Tool, ToolKind};
use prowess_format::text::visible;
use prowess_policy::scope::Program;
use prowess_policy::{
    Approvals, Decision, Digest, Grant, GrantScope, GrantSet, GrantSource, Line, LineKind, Mode,
    ProgramPin, RunFolders, RunRequest, decide, decide_with_effects, grants, utilities,
};
use serde_json::{Map, Value};

use crate::credentials::Credential;
use crate::decision::Engine;
use crate::error::{RunError, about_denial};
use crate::loaded::LoadedSkill;
use crate::lower::{GrantEffects, GrantPreview};
use crate::named_programs::{self, MissingProgram};
use crate::network::NetworkEnvironment;
use crate::pins::ImageHashes;
use crate::programs::{Finder, Images, ProgramLookupError};
use crate::run::{McpAccess, Talk};
use crate::tool::{self, Recipe};
use crate::user_grants::{self, UserGrants};
use crate::world::World;
use crate::{digest, hooks, inputs, lower, mcp_servers, outputs, platform};

/// A request to run a tool of a skill with values.
#[derive(Clone, Debug)]
pub struct Call {
    /// The skill.
    pub skill: Arc<LoadedSkill>,
    /// The tool.
    pub tool: Tool,
    /// The values of its parameters.
    pub values: Map<String, Value>,
    /// The mode that is on.
    pub mode: Mode,
}

/// A call that could be run, if it is allowed. It owns everything that it needs.
#[derive(Debug)]
pub struct PreparedCall {
    pub(crate) call: Call,
    pub(crate) recipe: Recipe,
    pub(crate) images: Images,
    pub(crate) missing: Vec<MissingProgram>,
    pub(crate) request: RunRequest,
    pub(crate) grants: GrantSet,
    pub(crate) time: Duration,
    pub(crate) grace: Option<Duration>,
    pub(crate) outside: NetworkEnvironment,
    pub(crate) user: UserGrants,
    pub(crate) world: Arc<World>,
    /// When it was prepared: what has changed before is not of the run.
    pub(crate) begun: SystemTime,
    /// Who talks to MCP servers; set when the run becomes ready.
    pub(crate) access: Option<McpAccess>,
    /// What is said to a server in place of one call.
    pub(crate) talk: Option<Talk>,
    /// The hooks around it, which are decided about with it.
    pub(crate) hooks: Option<Box<PreparedCall>>,
}

/// Checks a call and finds what it needs. Nothing is started, and nothing is written but hashes of programs.
pub fn prepare(call: Call, world: &Arc<World>) -> Result<PreparedCall, RunError> {
    prepare_for_user(call, UserGrants::none(), world)
}

/// Prepares a call like [`prepare`], with what the user grants beside what the skill declares.
pub fn prepare_for_user(
    call: Call,
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let (skill, tool) = (&call.skill.name, call.tool.name.as_str());
    let _span = tracing::info_span!("prepare", skill, tool).entered();
    let hooks = hooks::for_call(&call, &user, world)?;
    Ok(PreparedCall { hooks, ..without_hooks(call, user, world)? })
}

/// Prepares a call whose hooks are prepared already, or have run.
pub(crate) fn without_hooks(
    call: Call,
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let Call { tool, values, .. } = &call;
    let wrong = |errors| RunError::Inputs { tool: tool.name.value.clone(), errors };
    let files = inputs::check(tool, values, &world.working_directory).map_err(wrong)?;
    prepare_with(call, &files, user, world)
}

/// Prepares a tool that is not called yet: there are no values to check.
pub(crate) fn without_values(
    call: Call,
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    prepare_with(call, &[], user, world)
}

fn prepare_with(
    call: Call,
    files: &[PathBuf],
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let declared =
        grants::of_tool(&call.skill.skill, &call.tool).with(named_files(files, &user, world)?);
    with_grants(call, declared, user, world)
}

/// Prepares a call with what it declares beside what the user grants.
pub(crate) fn with_grants(
    call: Call,
    declared: GrantSet,
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let request = request(&call.skill, &call.tool, world)?;
    let (grants, request) = with_user(declared, request, &user);
    match find(&call, &grants, world) {
        Ok(CallRequirements { recipe, images, missing, pins, skill_pins }) => Ok(PreparedCall {
            request: with_user_pins(request, &pins, &call, &recipe.program, &grants, &user, world)
                .with_command(&recipe.program.to_string(), &recipe.arguments)
                .with_pins(pins)
                .with_skill_pins(skill_pins),
            call,
            recipe,
            images,
            missing,
            grants,
            time: Duration::ZERO,
            grace: None,
            outside: NetworkEnvironment::real(),
            user,
            world: Arc::clone(world),
            begun: SystemTime::now(),
            access: None,
            talk: None,
            hooks: None,
        }),
        Err(error) => {
            // What no answer allows is refused in the policy's words, whatever else is wrong: `examine` says the same.
            // Only a call that fails here is decided about here; all others by `PreparedCall::decide`.
            let trust = call.skill.trust;
            match decide(&request, trust, &grants, &Approvals::default(), call.mode) {
                Decision::Deny(denied) => Err(RunError::Denied(Box::new(denied))),
                Decision::Allow(_) | Decision::Ask(_) => Err(error),
            }
        }
    }
}

/// Prepares a call that starts no program: requests and prompts of hooks.
pub(crate) fn without_program(
    call: Call,
    declared: GrantSet,
    user: UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let request = request(&call.skill, &call.tool, world)?;
    let (grants, request) = with_user(declared, request, &user);
    Ok(PreparedCall {
        call,
        recipe: Recipe::nothing(),
        images: Images::default(),
        missing: Vec::new(),
        request,
        grants,
        time: Duration::ZERO,
        grace: None,
        outside: NetworkEnvironment::real(),
        user,
        world: Arc::clone(world),
        begun: SystemTime::now(),
        access: None,
        talk: None,
        hooks: None,
    })
}

/// Adds the user's own grants to a request.
fn with_user(declared: GrantSet, request: RunRequest, user: &UserGrants) -> (GrantSet, RunRequest) {
    let earlier = user.earlier(&request);
    let grants = declared.with(user.given().iter().cloned().chain(earlier));
    (grants, if user.remembers() { request.remembering() } else { request })
}

/// The images that are there only because the user named their programs: now, or earlier and unchanged since.
fn with_user_pins(
    request: RunRequest,
    pins: &[ProgramPin],
    call: &Call,
    program: &prowess_policy::scope::Program,
    grants: &GrantSet,
    user: &UserGrants,
    world: &World,
) -> RunRequest {
    let mut known = user.earlier_pins(&request);
    if user.given().iter().any(user_grants::is_program) {
        let without = grants.clone().only(|grant| !user.given().contains(grant));
        let finder = finder(&call.skill, world);
        if let Ok(others) = finder.images(program, &granted_programs(&call.tool, &without)) {
            let is_of_user =
                |pin: &&ProgramPin| !others.programs.iter().any(|it| *it == Path::new(&pin.path));
            known.extend(pins.iter().filter(is_of_user).cloned());
        }
    }
    request.with_user_pins(known)
}

/// What a call starts, and what it is pinned to.
struct CallRequirements {
    recipe: Recipe,
    images: Images,
    missing: Vec<MissingProgram>,
    pins: Vec<ProgramPin>,
    skill_pins: Vec<ProgramPin>,
}

fn find(call: &Call, grants: &GrantSet, world: &World) -> Result<CallRequirements, RunError> {
    let Call { skill, tool, values, .. } = call;
    let finder = finder(skill, world);
    // First, so that a server that is missing is reported with everything else that is.
    if tool.kind == ToolKind::McpTool {
        check_needs(call, grants, finder, world)?;
    }
    let recipe = tool::recipe(call, world)?;
    inputs::check_arguments(&recipe.arguments, values)
        .map_err(|error| RunError::Inputs { tool: tool.name.value.clone(), errors: vec![error] })?;
    check_needs(call, grants, finder, world)?;
    let images = images_of(&recipe, tool, grants, finder)?;
    let mut hashes = ImageHashes::load(&world.state);
    let pins = pins_of_call(call, &images, &mut hashes, world)?;
    let skill_pins = pins_of_skill(call, grants, finder, &mut hashes, world);
    hashes.save();
    let command = (&recipe.program, recipe.arguments.as_slice());
    let missing = named_programs::missing(call, command, &images, finder, world);
    Ok(CallRequirements { recipe, images, missing, pins, skill_pins })
}

/// How the names of files of databases end: these are granted as files, and then held to it.
const DATABASE_FILES: &[&str] = &[".db", ".db3", ".sqlite", ".sqlite3", ".duckdb"];

/// A server knows who asks and what for; a sandbox sees bytes on a connection (attack sandbox-G02). A grant that nothing enforces
/// is refused before anybody is asked to approve it.
fn refuse_servers_of_databases(grants: &GrantSet, call: &Call) -> Result<(), RunError> {
    let wanted = grants.for_tool(&call.tool.name);
    let server = wanted.grants().iter().find_map(|grant| match grant.scope() {
        GrantScope::Name(name)
            if grant.domain() == Domain::Database
                && !DATABASE_FILES.iter().any(|end| name.ends_with(end)) =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    match server {
        None => Ok(()),
        Some(database) => Err(RunError::Database { skill: call.skill.name.clone(), database }),
    }
}

/// What a tool comes to, whatever values it is called with.
#[derive(Debug)]
pub struct Examination {
    /// What the policy says.
    pub decision: Decision,
    /// The decision in plain words.
    pub lines: Vec<Line>,
    /// What would keep it from running although the policy does not: a program that is missing, a file that can't be
    /// executed. It is the very error that a run would end with.
    pub obstacle: Option<RunError>,
    /// What would help where it does not run, or asks.
    pub remedies: Vec<Remedy>,
}

/// What the policy says about a tool, and what else stands in its way, whatever values it is called with.
pub fn examine(
    loaded: &Arc<LoadedSkill>,
    tool: &Tool,
    mode: Mode,
    world: &World,
    approvals: &Approvals,
) -> Result<Examination, RunError> {
    examine_for_user(loaded, tool, mode, &UserGrants::none(), world, approvals)
}

/// Examines a tool like [`examine`], with what the user grants beside what the skill declares.
pub fn examine_for_user(
    loaded: &Arc<LoadedSkill>,
    tool: &Tool,
    mode: Mode,
    user: &UserGrants,
    world: &World,
    approvals: &Approvals,
) -> Result<Examination, RunError> {
    let values = Map::new();
    let call = Call { skill: Arc::clone(loaded), tool: tool.clone(), values, mode };
    let request = request(loaded, tool, world)?;
    let (grants, request) = with_user(grants::of_tool(&loaded.skill, tool), request, user);
    let mut hashes = ImageHashes::load(&world.state);
    let found = look(&call, &grants, &mut hashes, world);
    hashes.save();
    let (images, pins, request, obstacle) = match found {
        Ok((program, images, pins)) => {
            let request = with_user_pins(request, &pins, &call, &program, &grants, user, world);
            (images, pins, request, None)
        }
        Err(error) => (Images::default(), Vec::new(), request, Some(error)),
    };
    let missing = match (tool::program(&call, world), &obstacle) {
        (Ok(program), None) => {
            let finder = finder(loaded, world);
            named_programs::missing(&call, (&program, &[]), &images, finder, world)
        }
        (Err(_), _) | (_, Some(_)) => Vec::new(),
    };
    let effects = GrantEffects::new(world, loaded.directory.as_deref());
    let effect_of = |grant: &Grant| effects.effect_of(grant);
    let request = request.with_pins(pins);
    let decision =
        decide_with_effects(&request, loaded.trust, &grants, approvals, mode, &effect_of);
    let outlook = GrantPreview::of(&decision, &images, loaded.directory.as_deref(), world);
    let mut lines = outlook.explain(&decision);
    lines.extend(notes(&tool.name, &missing, &decision));
    // What the policy refuses is refused before anybody looks for programs.
    let obstacle = obstacle.filter(|_| !matches!(decision, Decision::Deny(_)));
    let mut remedies: Vec<Remedy> = match &decision {
        Decision::Allow(_) => Vec::new(),
        Decision::Ask(question) if question.allows_in_advance() => vec![Remedy::Approve],
        Decision::Ask(_) => vec![Remedy::ApproveInPerson],
        Decision::Deny(denied) => denied.reasons().iter().map(about_denial).collect(),
    };
    if let Some(error) = &obstacle {
        let name = format!("{}/{}", loaded.name, tool.name.value);
        let verdict = format!("`{}` does not run here", visible(&name));
        let refused = format!("refused, because {}", visible(&error.to_string()));
        let told = [(LineKind::Verdict, verdict), (LineKind::Refused, refused)];
        let told = told.into_iter().map(|(kind, text)| Line::new(kind, text));
        remedies.extend(error.remedies());
        // In place of the policy's verdict, which is about the rest.
        lines.splice(..1, told);
    }
    Ok(Examination { decision, lines, obstacle, remedies })
}

/// Looks for what a tool needs as a run does, and gives the images that it would start, with their pins.
fn look(
    call: &Call,
    grants: &GrantSet,
    hashes: &mut ImageHashes,
    world: &World,
) -> Result<(prowess_policy::scope::Program, Images, Vec<ProgramPin>), RunError> {
    let Call { skill, tool, .. } = call;
    let finder = finder(skill, world);
    if tool.kind == ToolKind::McpTool {
        check_needs(call, grants, finder, world)?;
    }
    let program = tool::program(call, world)?;
    check_needs(call, grants, finder, world)?;
    let images = match tool.kind {
        // What a script starts does not depend on its arguments.
        // A server's settings say what it is started with.
        ToolKind::Script | ToolKind::McpTool => {
            images_of(&tool::recipe(call, world)?, tool, grants, finder)?
        }
        ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::CommandLine => {
            let mut images = finder.images(&program, &granted_programs(tool, grants))?;
            if utilities::are_given_to(tool) {
                images.add_utilities();
            }
            images
        }
    };
    let pins = pins_of_call(call, &images, hashes, world)?;
    Ok((program, images, pins))
}

/// What the skill declares to need, before anything is looked for on its behalf (SRT §4.5, §4.6). Everything that refuses a
/// call for what is declared stands here, because a run and `examine` have to say the same.
fn check_needs(
    call: &Call,
    grants: &GrantSet,
    finder: Finder<'_>,
    world: &World,
) -> Result<(), RunError> {
    let Call { skill, tool, .. } = call;
    if let Some(schema) = outputs::schema(&skill.skill, tool) {
        outputs::check_schema(schema)?;
    }
    let missing = eligibility::missing(&skill.skill, &ThisMachine { finder, world });
    if !missing.is_empty() {
        return Err(RunError::Requirements { skill: skill.name.clone(), missing });
    }
    if tool.kind == ToolKind::McpTool && !world.credentials.is_empty() {
        return Err(RunError::Unsupported(format!(
            "`{}` is a tool of an MCP server, which gets its credentials from its own settings",
            tool.name.value
        )));
    }
    check_credentials(tool, grants, world)?;
    refuse_servers_of_databases(grants, call)
}

fn request(skill: &LoadedSkill, tool: &Tool, world: &World) -> Result<RunRequest, RunError> {
    if let Some(folder) = &skill.directory
        && let Some(place) = lower::never_shown_in(folder, world)
    {
        return Err(RunError::SkillFolder { folder: folder.to_owned(), place });
    }
    let place = skill.place();
    let (digest, files) = digest::of_skill_and_files(place)?;
    // It is trusted for the files that it was read from, and these are others.
    if skill.digest.as_ref().is_some_and(|known| *known != digest) {
        return Err(RunError::Changed("the skill"));
    }
    let request = RunRequest::of_tool(&skill.skill, &skill.name, tool, digest, Vec::new());
    let places = RunFolders {
        skill: platform::unique_text(place),
        project: platform::unique_text(&world.working_directory),
    };
    let request = request.with_files(files).with_folders(places);
    // Outside of a repository `./` is everything that the user has, which is judged as such.
    Ok(if world.working_directory == world.home { request.in_home() } else { request })
}

impl PreparedCall {
    /// What the policy says.
    pub(crate) fn policy_decision(&self, approvals: &Approvals) -> Decision {
        let _span = tracing::info_span!("decide").entered();
        let Call { skill, mode, .. } = &self.call;
        let effects = GrantEffects::new(&self.world, skill.directory.as_deref());
        let effect_of = |grant: &Grant| effects.effect_of(grant);
        decide_with_effects(&self.request, skill.trust, &self.grants, approvals, *mode, &effect_of)
    }

    /// Keeps what the user granted, where they want that. The run is allowed by now.
    pub(crate) fn remember_user_grants(&self, engine: &Engine) -> Result<(), RunError> {
        let (user, request) = (&self.user, &self.request);
        let earlier = user.earlier_pins(request);
        let of_now = request.user_pins().iter().filter(|pin| !earlier.contains(pin)).cloned();
        match user.record(request, of_now.collect(), engine.clock.now()) {
            Some(record) => Ok(engine.approvals.remember(record)?),
            None => Ok(()),
        }
    }

    /// What the policy says in plain words, with what that means on this machine.
    pub(crate) fn explain(&self, decision: &Decision) -> Vec<Line> {
        let folder = self.call.skill.directory.as_deref();
        let outlook = GrantPreview::of(decision, &self.images, folder, &self.world);
        let mut lines = outlook.explain(decision);
        lines.extend(notes(&self.call.tool.name, &self.missing, decision));
        lines.extend(self.recipe.server.iter().map(|plan| Line::new(LineKind::Note, plan.note())));
        lines
    }

    /// Whether the tool gets something of the folder that it works in.
    pub fn uses_working_directory(&self) -> bool {
        let is_there = |grant: &Grant| match grant.scope() {
            GrantScope::Path(path) => path.root() == prowess_policy::scope::PathRoot::Working,
            _ => false,
        };
        self.grants.for_tool(&self.call.tool.name).grants().iter().any(is_there)
    }

    /// Whether hooks of the skill run around it.
    pub fn has_hooks(&self) -> bool {
        self.hooks.is_some()
    }

    /// Skill and tool.
    pub fn name(&self) -> String {
        format!("{}/{}", self.call.skill.name, self.call.tool.name.value)
    }

    /// What the skill says about itself.
    pub fn description(&self) -> &str {
        self.call.skill.skill.description_or(&self.call.skill.name)
    }

    /// Program and arguments, as the author and the user wrote them.
    pub fn command(&self) -> &[String] {
        &self.recipe.shown
    }

    /// Values that the program may take for options (NEG-12).
    pub fn option_like(&self) -> &[(String, String)] {
        &self.recipe.option_like
    }

    /// Shortens the limits, for tests that wait for them.
    #[doc(hidden)]
    pub fn shorten(&mut self, time: Duration, grace: Duration) {
        self.time = time;
        self.grace = Some(grace);
    }

    /// Puts other servers in place of the real world, for tests that have some on the loopback.
    #[doc(hidden)]
    pub fn replace_outside(
        &mut self,
        resolver: Arc<dyn prowess_proxy::Resolver>,
        roots: prowess_proxy::UpstreamRoots,
        permit_addresses: Vec<std::net::IpAddr>,
    ) {
        self.outside = NetworkEnvironment { resolver, roots, permit_addresses, byte_cap: None };
        if let Some(hooks) = &mut self.hooks {
            hooks.outside = self.outside.clone();
        }
    }

    /// Lowers the limit of bytes sent and received, for tests that reach it.
    #[doc(hidden)]
    pub fn limit_traffic(&mut self, bytes: u64) {
        self.outside.byte_cap = Some(bytes);
    }
}

/// What a script names and would not find.
fn notes(tool: &str, missing: &[MissingProgram], decision: &Decision) -> Vec<Line> {
    if matches!(decision, Decision::Deny(_)) {
        return Vec::new();
    }
    let told = named_programs::sentences(tool, missing, &decision.spec().programs);
    told.into_iter().map(|text| Line::new(LineKind::Note, text)).collect()
}

pub(crate) fn finder<'f>(skill: &'f LoadedSkill, world: &'f World) -> Finder<'f> {
    Finder { search_path: &world.search_path, skill_directory: skill.directory.as_deref() }
}

/// The digest of all the files of a skill.
pub(crate) fn digest_of(skill: &LoadedSkill) -> Result<Digest, RunError> {
    Ok(digest::of_skill(skill.place())?)
}

/// Everything beside the skill that an approval of a call is bound to: images, and the settings of an MCP server.
pub(crate) fn pins_of_call(
    call: &Call,
    images: &Images,
    hashes: &mut ImageHashes,
    world: &World,
) -> Result<Vec<ProgramPin>, RunError> {
    let mut pins = pins(images, call.skill.directory.as_deref(), hashes)?;
    pins.extend(tool::mcp::pin_now(call, world)?);
    Ok(pins)
}

/// The pins of images; the skill's own files are in its digest.
pub(crate) fn pins(
    images: &Images,
    skill_directory: Option<&Path>,
    hashes: &mut ImageHashes,
) -> Result<Vec<ProgramPin>, RunError> {
    let foreign = images
        .programs
        .iter()
        .filter(|image| skill_directory.is_none_or(|folder| !image.starts_with(folder)));
    let mut pins = Vec::new();
    for image in foreign {
        let pin = hashes.pin(image).map_err(|error| ProgramLookupError::NotExecutable {
            name: image.display().to_string(),
            reason: error.to_string(),
        })?;
        if !pins.contains(&pin) {
            pins.push(pin);
        }
    }
    Ok(pins)
}

/// The pins of the other tools, for an approval of the whole skill. What is missing can't be approved and asks again.
fn pins_of_skill(
    call: &Call,
    grants: &GrantSet,
    finder: Finder<'_>,
    hashes: &mut ImageHashes,
    world: &World,
) -> Vec<ProgramPin> {
    let others = call.skill.skill.tools.iter().filter(|tool| tool.name != call.tool.name);
    let mut all = Vec::new();
    for tool in others {
        let Some(starter) = tool::starter(&call.skill.skill, tool, world) else { continue };
        let Ok(images) = finder.images(&starter, &granted_programs(tool, grants)) else { continue };
        all.extend(pins(&images, call.skill.directory.as_deref(), hashes).unwrap_or_default());
    }
    all.sort();
    all.dedup();
    all
}

fn images_of(
    recipe: &Recipe,
    tool: &Tool,
    grants: &GrantSet,
    finder: Finder<'_>,
) -> Result<Images, ProgramLookupError> {
    if recipe.server.as_ref().is_some_and(|plan| plan.is_remote()) {
        return Ok(Images::default());
    }
    let mut granted = granted_programs(tool, grants);
    if tool.kind == ToolKind::Script && recipe.packages.is_some() {
        // A script of Python may start another one, by the name that everybody uses.
        granted.push(Program::Named("python3".to_owned()));
    }
    let mut images = finder.images(&recipe.program, &granted)?;
    if utilities::are_given_to(tool) {
        images.add_utilities();
    }
    if let Some(plan) = &recipe.python {
        images.support.extend_from_slice(plan.support());
    }
    if let Some(packages) = &recipe.packages {
        images.support.extend_from_slice(packages.support());
    }
    Ok(images)
}

/// A credential for a host that the tool can't reach is a mistake that is better told before anybody is asked.
fn check_credentials(tool: &Tool, grants: &GrantSet, world: &World) -> Result<(), RunError> {
    let granted = grants.for_tool(&tool.name);
    let reached = |credential: &Credential| {
        granted.grants().iter().any(|grant| match grant.scope() {
            prowess_policy::GrantScope::Host(hosts) => credential.is_within(hosts),
            _ => false,
        })
    };
    match world.credentials.iter().find(|credential| !reached(credential)) {
        Some(credential) => Err(credential.not_granted().into()),
        None => Ok(()),
    }
}

/// The programs that are granted to a tool by name.
fn granted_programs(tool: &Tool, grants: &GrantSet) -> Vec<Program> {
    grants
        .for_tool(&tool.name)
        .grants()
        .iter()
        .filter_map(|grant| match (grant.scope(), tool.kind) {
            // A script is started by its interpreter, whatever the kernel would do with the file.
            (GrantScope::Program(Program::Own(_)), ToolKind::Script) => None,
            (GrantScope::Program(program), _) => Some(program.clone()),
            _ => None,
        })
        .collect()
}

/// Files that the user names as inputs become grants of the user's, where the working directory does not hold them.
fn named_files(
    files: &[PathBuf],
    user: &UserGrants,
    world: &World,
) -> Result<Vec<Grant>, RunError> {
    let mut grants: Vec<Grant> = Vec::new();
    let named = files.iter().chain(user.named());
    for file in named.filter(|file| !file.starts_with(&world.working_directory)) {
        let shown = file.display();
        let refused = |reason: &str| {
            RunError::Unsupported(format!("`{shown}` can't be given to a tool: {reason}"))
        };
        let text = format!("filesystem:read:{shown}");
        // As a permission, such a name would be a pattern for other files.
        if text.contains(['*', '?', '{', '}']) {
            return Err(refused("its name contains a wildcard"));
        }
        let grant = Grant::parse(&text, &GrantSource::Input(text.clone()))
            .map_err(|error| refused(&error.to_string()))?;
        grants.extend(grant.into_iter().filter(|it| !grants.contains(it)).collect::<Vec<_>>());
    }
    Ok(grants)
}

/// This machine, for the requirements of a skill.
pub(crate) fn here<'h>(skill: &'h LoadedSkill, world: &'h World) -> impl MachineFacts + 'h {
    ThisMachine { finder: finder(skill, world), world }
}

struct ThisMachine<'h> {
    finder: Finder<'h>,
    world: &'h World,
}

impl MachineFacts for ThisMachine<'_> {
    fn os(&self) -> &str {
        match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        }
    }

    fn has_program(&self, name: &str) -> bool {
        self.finder.has(name)
    }

    fn has_variable(&self, name: &str) -> bool {
        self.world.environment.iter().any(|(known, value)| known == name && !value.is_empty())
    }

    /// Settings are those of a host agent, which nobody here can look up.
    fn has_setting(&self, _path: &str) -> bool {
        true
    }

    fn server_problem(&self, name: &str) -> Option<String> {
        mcp_servers::problem(name, self.world, self.finder)
    }
}
