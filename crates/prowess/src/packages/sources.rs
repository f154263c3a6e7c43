//! Where skills come from, as this user has configured it.

use std::sync::Arc;
use std::time::SystemTime;

use prowess_library::packages::{PackageManager, SkillSources};
use prowess_package::limits::PackageLimits;
use prowess_sources::{GitBounds, Prompts, Registries, SkillServers, SourceOptions, Sources};
use prowess_store::source::Catalogue;

use crate::error::Error;
use crate::packages::servers::TerminalServers;
use crate::session;
use crate::terminal::confirm::can_ask;
use crate::terminal::printer::Printer;
use crate::terminal::signals::{self, Repaired};

/// The sources of skills for one command.
pub(crate) struct SourceSession {
    /// All sources.
    pub(crate) sources: Sources,
    /// Whether a registry is configured.
    pub(crate) has_registry: bool,
    /// Starts MCP servers that publish skills.
    servers: Arc<TerminalServers>,
    /// Removes temporary files if a signal interrupts a fetch.
    _cleanup: Repaired,
}

impl SourceSession {
    /// Opens the configured sources. Offline, only folders, archives and caches are used.
    pub(crate) fn open(
        packages: &PackageManager,
        printer: &mut Printer,
        offline: bool,
    ) -> Result<Self, Error> {
        let world = session::world()?;
        let registries = Registries::load(&world.environment, &world.state.config)
            .map_err(|error| error.problem())?;
        let has_registry = !registries.is_empty();
        let places = packages.places();
        let servers = Arc::new(TerminalServers::new(printer));
        let sources = Sources::new(SourceOptions {
            variables: world.environment.clone(),
            current_folder: places.current.clone(),
            limits: PackageLimits::PACKAGE,
            git: GitBounds::USUAL,
            registries,
            cache_folder: Some(places.cache.clone()),
            offline,
            prompts: if can_ask(printer) { Prompts::Allowed } else { Prompts::Never },
            progress: crate::terminal::progress::of_fetches(printer),
            pause: Arc::new(std::thread::sleep),
            now: SystemTime::now(),
            servers: Some(Arc::clone(&servers) as Arc<dyn SkillServers>),
        });
        let cleanup = signals::repaired_by(sources.tidy_up());
        Ok(Self { sources, has_registry, servers, _cleanup: cleanup })
    }

    /// Starts MCP servers without a question, where the user has said so in advance.
    pub(crate) fn consent_to_servers(&self, is_agreed: bool) {
        self.servers.agree(is_agreed);
    }

    /// The sources as the package manager takes them.
    pub(crate) fn as_sources(&self) -> SkillSources<'_> {
        let catalogue = self.has_registry.then_some(&self.sources as &dyn Catalogue);
        SkillSources { source: &self.sources, catalogue }
    }
}
