//! Plugins of Claude Code: folders with several skills and a manifest above them.

use std::path::{Path, PathBuf};

/// How far above a skill the manifest can be: `skills/NAME` is two folders below it.
const MOST_LEVELS: usize = 4;

/// The folder of the plugin that a skill is a part of.
pub fn plugin_root(skill: &Path) -> Option<PathBuf> {
    let folders = skill.ancestors().take(MOST_LEVELS);
    let mut plugins = folders.filter(|folder| folder.join(".claude-plugin/plugin.json").is_file());
    plugins.next().map(Path::to_owned)
}
