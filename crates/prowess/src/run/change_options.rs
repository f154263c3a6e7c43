//! What happens with the changes that a tool makes in granted folders: applied, reviewed, kept, written as a patch.

use std::path::{Path, PathBuf};

use clap::Args;
use prowess_engine::{ApplyWhen, FailedRunChanges, StagedWrites, WithoutStaging, Writes};

/// The options of every verb that runs one tool.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ChangeOptions {
    /// Show the tool's changes as a diff, and ask before they are applied
    ///
    /// Without a terminal nothing is applied: the changes are kept, and the exit code
    /// is 125.
    #[arg(long, conflicts_with = "dry_run", help_heading = "Changes")]
    review: bool,
    /// Apply nothing, and keep the changes for `prowess runs`
    #[arg(long, help_heading = "Changes")]
    dry_run: bool,
    /// Write the changes to FILE as a patch for `git apply`
    ///
    /// Paths in it are relative to the root of the repository around the current
    /// folder.
    #[arg(long, value_name = "FILE", help_heading = "Changes")]
    patch: Option<PathBuf>,
    /// Apply the changes of a tool that fails, times out or is cancelled as well
    #[arg(long, conflicts_with_all = ["review", "dry_run"], help_heading = "Changes")]
    keep_changes: bool,
    /// Also apply changes that would need a decision, if their path matches GLOB
    ///
    /// For files that other programs start or obey, such as `.npmrc`, and for links
    /// that lead out of the granted folders. A relative GLOB is relative to the
    /// current folder; `*` stays within a name, `**` matches folders, and a folder
    /// stands for everything in it. May be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Changes")]
    accept: Vec<String>,
    /// Let the tool write to the granted folders at once
    ///
    /// For tools whose changes others have to see while they run, such as a
    /// development server. They are not examined first and can't be undone.
    #[arg(long, conflicts_with_all = ["review", "dry_run", "patch", "keep_changes", "accept"], help_heading = "Changes")]
    live: bool,
}

impl ChangeOptions {
    /// Where the tool's writes go.
    pub(crate) fn writes(&self) -> Writes {
        if self.live {
            return Writes::Live;
        }
        let is_held = self.review || self.dry_run;
        Writes::Staged(StagedWrites {
            apply: if is_held { ApplyWhen::Accepted } else { ApplyWhen::Ordinary },
            failed: if self.keep_changes {
                FailedRunChanges::Apply
            } else {
                FailedRunChanges::Hold
            },
            // What was asked for can't be done then.
            without: if is_held || self.patch.is_some() {
                WithoutStaging::Refuse
            } else {
                WithoutStaging::Live
            },
        })
    }

    /// Whether the changes are shown and asked about.
    pub(crate) fn is_review(&self) -> bool {
        self.review
    }

    /// Whether nothing is applied.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The file for the patch.
    pub(crate) fn patch(&self) -> Option<&Path> {
        self.patch.as_deref()
    }

    /// Patterns of paths whose changes are accepted.
    pub(crate) fn accept(&self) -> &[String] {
        &self.accept
    }

    /// The first option that was given, for skills that change nothing.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--review", self.review),
            ("--dry-run", self.dry_run),
            ("--patch", self.patch.is_some()),
            ("--keep-changes", self.keep_changes),
            ("--accept", !self.accept.is_empty()),
            ("--live", self.live),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}
