//! The nouns for facets in messages.

/// The noun for a facet, in singular and plural.
struct Noun {
    facet: &'static str,
    one: &'static str,
    many: &'static str,
}

const fn noun(facet: &'static str, one: &'static str, many: &'static str) -> Noun {
    Noun { facet, one, many }
}

const NOUNS: &[Noun] = &[
    noun("name", "name", "names"),
    noun("version", "version", "versions"),
    noun("description", "description", "descriptions"),
    noun("authors", "author", "authors"),
    noun("license", "licence", "licences"),
    noun("compatibility", "compatibility note", "compatibility notes"),
    noun("homepage", "home page", "home pages"),
    noun("repository", "repository", "repositories"),
    noun("registry", "registry", "registries"),
    noun("tags", "tag", "tags"),
    noun("category", "category", "categories"),
    noun("trust_level", "trust level", "trust levels"),
    noun("security_tier", "security tier", "security tiers"),
    noun("checksum", "checksum", "checksums"),
    noun("min_client_version", "oldest client", "oldest clients"),
    noun("inputs", "input", "inputs"),
    noun("outputs.type", "output type", "output types"),
    noun("outputs.schema", "output schema", "output schemas"),
    noun("tools", "tool", "tools"),
    noun("permissions", "permission", "permissions"),
    noun("requirements.model", "smallest model", "smallest models"),
    noun("requirements.context", "smallest context window", "smallest context windows"),
    noun("requirements.python", "Python version", "Python versions"),
    noun("requirements.python_packages", "Python package", "Python packages"),
    noun("requirements.node_packages", "Node package", "Node packages"),
    noun("requirements.env_vars", "environment variable", "environment variables"),
    noun("requirements.hardware", "hardware hint", "hardware hints"),
    noun("requirements.programs", "required program", "required programs"),
    noun("requirements.any_programs", "alternative program", "alternative programs"),
    noun("requirements.config", "required setting", "required settings"),
    noun("requirements.os", "operating system", "operating systems"),
    noun("requirements.mcp_servers", "MCP server", "MCP servers"),
    noun("requirements.skills", "required skill", "required skills"),
    noun("sampling", "sampling setting", "sampling settings"),
    noun("model_alias", "model name", "model names"),
    noun("knowledge_base", "knowledge base", "knowledge bases"),
    noun("owner", "owner", "owners"),
    noun("runtime.type", "runtime", "runtimes"),
    noun("runtime.min_version", "oldest runtime", "oldest runtimes"),
    noun("runtime.server", "server of the tool", "servers of the tool"),
    noun("runtime.tool", "tool of the server", "tools of the server"),
    noun("invocation.disable_model_invocation", "invocation switch", "invocation switches"),
    noun("invocation.user_invocable", "menu switch", "menu switches"),
    noun("invocation.mode", "mode command", "mode commands"),
    noun("invocation.argument_hint", "argument hint", "argument hints"),
    noun("invocation.context", "subagent context", "subagent contexts"),
    noun("invocation.agent", "subagent", "subagents"),
    noun("invocation.when_to_use", "trigger text", "trigger texts"),
    noun("invocation.arguments", "argument name", "argument names"),
    noun("invocation.effort", "effort level", "effort levels"),
    noun("invocation.background", "background switch", "background switches"),
    noun("invocation.paths", "path pattern", "path patterns"),
    noun("invocation.shell", "shell", "shells"),
    noun("invocation.command_dispatch", "command dispatch", "command dispatches"),
    noun("invocation.command_tool", "command tool", "command tools"),
    noun("invocation.command_arg_mode", "argument mode", "argument modes"),
    noun("hooks", "hook", "hooks"),
    noun("quiz", "quiz", "quizzes"),
    noun("modes", "mode", "modes"),
    noun("read_only", "read-only flag", "read-only flags"),
    noun("always_ask", "approval flag", "approval flags"),
    noun("timeout_secs", "time limit", "time limits"),
    noun("network", "network flag", "network flags"),
    noun("allowed_tools", "pre-approved tool", "pre-approved tools"),
    noun("disallowed_tools", "withheld tool", "withheld tools"),
    noun("openclaw.emoji", "emoji", "emoji"),
    noun("openclaw.always", "gate override", "gate overrides"),
    noun("openclaw.skill_key", "settings key", "settings keys"),
    noun("openclaw.primary_env", "main secret", "main secrets"),
    noun("openclaw.env_vars", "described variable", "described variables"),
    noun("openclaw.install", "install step", "install steps"),
    noun("openclaw.extra", "vendor field", "vendor fields"),
    noun("metadata", "metadata entry", "metadata entries"),
    noun("extra", "unknown field", "unknown fields"),
    noun("body", "body", "bodies"),
];

/// The singular and the plural noun of a facet.
pub(super) fn words(facet: &'static str) -> (&'static str, &'static str) {
    NOUNS
        .iter()
        .find(|noun| noun.facet == facet)
        .map_or((facet, facet), |noun| (noun.one, noun.many))
}
