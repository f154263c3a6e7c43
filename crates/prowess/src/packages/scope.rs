//! The store that a verb works on, and the line that says so.

use prowess_library::packages::{PackageManager, ScopeChoice, ScopeReason};
use prowess_store::places::{Places, Scope};

use super::options::ScopeOption;
use crate::error::Error;
use crate::render::change_report::Report;
use crate::terminal::printer::{Printer, inline};

/// The package manager with the store that a verb works on.
pub(crate) struct ScopedPackages {
    /// The package manager.
    pub(crate) packages: PackageManager,
    /// The store, and why.
    pub(crate) choice: ScopeChoice,
}

impl ScopedPackages {
    /// Chooses the store by the options and by where the user stands.
    pub(crate) fn open(option: ScopeOption) -> Result<Self, Error> {
        let (packages, choice) = super::manager()?.choose_scope(option.asked());
        Ok(Self { packages, choice })
    }

    /// Which of the two stores it is.
    pub(crate) fn scope(&self) -> Scope {
        self.choice.scope
    }

    /// Says in one line of a report which store is used.
    pub(crate) fn tell(&self, report: &mut Report, printer: &mut Printer) {
        report.put(self.packages.scope_json(self.choice));
        if report.is_text() {
            printer.say(&self.line());
        }
    }

    /// The line for people.
    pub(crate) fn line(&self) -> String {
        let store = self.store();
        match self.choice.reason {
            ScopeReason::Asked | ScopeReason::NoProjectLock => format!("using {store}"),
            ScopeReason::ProjectLock => {
                format!("using {store}, because it has a lock file (`--user` uses your own)")
            }
        }
    }

    /// The line of a verb that shows the skills of all stores.
    pub(crate) fn overview_line(&self) -> String {
        match self.choice.reason {
            ScopeReason::Asked => self.line(),
            ScopeReason::ProjectLock | ScopeReason::NoProjectLock => {
                format!(
                    "looking everywhere; to install and update, this folder uses {}",
                    self.store()
                )
            }
        }
    }

    fn store(&self) -> String {
        let path = self.packages.store_path(self.choice.scope);
        // Below the project, its own folder would be shown as `.prowess`, which says nothing about which project it is.
        let places = Places { project: None, ..self.packages.places().clone() };
        let place = inline(&places.shown(&path)).into_owned();
        match self.choice.scope {
            Scope::Project => format!("the project's skills in `{place}`"),
            Scope::User => format!("your own skills in `{place}`"),
        }
    }
}
