//! What can be wrong with a workflow: one rule each, in the same shape as the rules about skills.

use prowess_format::diagnostic::{Rule, Severity};

/// Declares rules; their doc comments become their pages.
macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $severity:ident;)+) => {
        $($(#[doc = $doc])+
        pub(crate) static $name: Rule = Rule {
            name: $code,
            severity: Severity::$severity,
            strict: Severity::$severity,
            since: "0.1.0",
            page: concat!($($doc, "\n"),+),
            sections: &[],
            check: None,
        };)+

        /// Every rule about workflows, sorted by its code.
        pub static ALL: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    /// ## What it does
    /// Flags nodes that come before themselves.
    /// ## Why is this bad?
    /// Each of them would wait for the others, and none would ever run.
    /// ## Example
    /// Of `a → b → a` remove one edge.
    CYCLE = "workflow-cycle", Error;

    /// ## What it does
    /// Flags an edge that leaves from a node, or leads to one, that is not there.
    /// ## Why is this bad?
    /// The intent is unclear: a step is missing, or a name is misspelt.
    /// ## Example
    /// `"target": "sumary"` becomes `"target": "summary"`.
    DANGLING_EDGE = "workflow-dangling-edge", Error;

    /// ## What it does
    /// Flags two nodes with the same id.
    /// ## Why is this bad?
    /// Edges and templates call nodes by their ids, and could mean either.
    /// ## Example
    /// The second `"id": "llm"` becomes `"id": "llm-2"`.
    DUPLICATE_NODE = "workflow-duplicate-node", Error;

    /// ## What it does
    /// Flags fields of a node that are missing although the node can't do its work without them.
    /// ## Why is this bad?
    /// The node would fail when its turn comes, after others have done their work.
    /// ## Example
    /// A `skill` node gets `"skillName": "article-summary"`.
    FIELD_MISSING = "workflow-field-missing", Error;

    /// ## What it does
    /// Flags numbers of a node that are too small or too large.
    /// ## Why is this bad?
    /// The bounds keep one node from holding up the others: 30 seconds, 512 MB.
    /// ## Example
    /// `"timeoutSeconds": 300` becomes `"timeoutSeconds": 30`.
    FIELD_RANGE = "workflow-field-range", Error;

    /// ## What it does
    /// Flags fields of a workflow that have another type than they should.
    /// ## Why is this bad?
    /// What is meant can only be guessed.
    /// ## Example
    /// `"timeoutSeconds": "10"` becomes `"timeoutSeconds": 10`.
    FIELD_TYPE = "workflow-field-type", Error;

    /// ## What it does
    /// Flags an `http` node that leads to this machine, its network, or the metadata service of its cloud.
    /// ## Why is this bad?
    /// A workflow that somebody else wrote could reach what only you can reach, so such requests are refused when the
    /// node's turn comes, and the run stops there.
    /// ## Example
    /// `"url": "http://localhost:8080/api"` becomes a tool of a skill that is granted this address, or a public address.
    GUARDED_ADDRESS = "workflow-guarded-address", Warning;

    /// ## What it does
    /// Flags a condition that can't be read.
    /// ## Why is this bad?
    /// An invalid condition can't be evaluated, so neither branch could be taken.
    /// ## Example
    /// `{{a.output}} = 'yes'` becomes `{{a.output}} === 'yes'`. There are `===`, `!==`, `==`, `!=`, `<`, `<=`, `>`, `>=`,
    /// `&&`, `||`, `!`, parentheses, `.includes(…)` and `contains`.
    INVALID_EXPRESSION = "workflow-invalid-expression", Error;

    /// ## What it does
    /// Flags an `http` node that no request can be made of: an unknown method, an address that is not `http` or `https`,
    /// the name of a header that is none.
    /// ## Why is this bad?
    /// The node would fail when its turn comes.
    /// ## Example
    /// `"url": "ftp://example.org"` becomes `"url": "https://example.org"`.
    INVALID_REQUEST = "workflow-invalid-request", Error;

    /// ## What it does
    /// Flags a condition without an edge for one of its answers.
    /// ## Why is this bad?
    /// With that answer the workflow ends there, perhaps without a result.
    /// ## Example
    /// Add an edge with `"sourceHandle": "false"`.
    MISSING_BRANCH = "workflow-missing-branch", Warning;

    /// ## What it does
    /// Flags a workflow without a node of type `end`.
    /// ## Why is this bad?
    /// Nothing says what the result is.
    /// ## Example
    /// Add `{"id": "end", "type": "end"}` and an edge to it.
    MISSING_END = "workflow-missing-end", Error;

    /// ## What it does
    /// Flags a workflow without a node of type `start`.
    /// ## Why is this bad?
    /// Nothing would ever run.
    /// ## Example
    /// Add `{"id": "start", "type": "start", "data": {"inputVariable": "topic"}}` and an edge from it.
    MISSING_START = "workflow-missing-start", Error;

    /// ## What it does
    /// Flags a file that is no JSON.
    /// ## Why is this bad?
    /// It can't be read at all.
    /// ## Example
    /// Remove the comma after the last element of a list.
    NOT_JSON = "workflow-not-json", Error;

    /// ## What it does
    /// Flags a reference to a node that does not come before the one that refers to it.
    /// ## Why is this bad?
    /// Nothing makes it run first, so there may be no value.
    /// ## Example
    /// Add an edge from the node that is referred to.
    NOT_UPSTREAM = "workflow-not-upstream", Error;

    /// ## What it does
    /// Flags a reference to a part of something that has no parts, such as `{{llm.output.title}}`: a model answers in text.
    /// It flags a `responsePath` where there is no answer to look into as well.
    /// ## Why is this bad?
    /// The reference never resolves, and becomes an empty string.
    /// ## Example
    /// `{{llm.output.title}}` becomes `{{llm.output}}`.
    PART_OF_TEXT = "workflow-part-of-text", Error;

    /// ## What it does
    /// Flags `{{…}}` in the program of a `code` node.
    /// ## Why is this bad?
    /// Values are never pasted into programs: one that holds a quote would become a part of the program. The braces stay
    /// as they are, which is not what was meant.
    /// ## Example
    /// `print(len("{{start.output}}"))` becomes `import sys; print(len(sys.stdin.read()))`. What other nodes give comes
    /// with `"env": {"TITLE": "{{page.output.title}}"}` as a variable.
    REFERENCE_IN_CODE = "workflow-reference-in-code", Warning;

    /// ## What it does
    /// Flags workflows that are larger than any that people make: 4 MiB, 1,000 nodes, 5,000 edges.
    /// ## Why is this bad?
    /// It is probably not a workflow, and would use too much memory.
    /// ## Example
    /// Split it into several workflows.
    TOO_LARGE = "workflow-too-large", Error;

    /// ## What it does
    /// Flags an edge of a condition whose `sourceHandle` is neither `true` nor `false`.
    /// ## Why is this bad?
    /// A condition has two answers. An edge for a third one would never be taken.
    /// ## Example
    /// `"sourceHandle": "yes"` becomes `"sourceHandle": "true"`.
    UNKNOWN_BRANCH = "workflow-unknown-branch", Error;

    /// ## What it does
    /// Flags a knowledge base that is not there.
    /// ## Why is this bad?
    /// The node would fail when its turn comes. It is a warning, because a base may be made before the workflow is run.
    /// ## Example
    /// `"knowledgeBaseId": "handbok"` becomes `"knowledgeBaseId": "handbook"`.
    UNKNOWN_BASE = "workflow-unknown-knowledge-base", Warning;

    /// ## What it does
    /// Flags types of nodes that do not exist.
    /// ## Why is this bad?
    /// Such a node can't be run.
    /// ## Example
    /// `"type": "LLM"` becomes `"type": "llm"`.
    UNKNOWN_NODE_TYPE = "workflow-unknown-node-type", Error;

    /// ## What it does
    /// Flags a reference to something that is neither a node nor an input of the workflow.
    /// ## Why is this bad?
    /// The reference never resolves, and becomes an empty string.
    /// ## Example
    /// `{{sumary.output}}` becomes `{{summary.output}}`.
    UNKNOWN_REFERENCE = "workflow-unknown-reference", Error;

    /// ## What it does
    /// Flags skills and tools that are not there, or have errors.
    /// ## Why is this bad?
    /// The node would fail when its turn comes.
    /// ## Example
    /// `"skillName": "artcle-summary"` becomes `"skillName": "article-summary"`.
    UNKNOWN_SKILL = "workflow-unknown-skill", Error;

    /// ## What it does
    /// Flags a required input of a skill that no mapping gives a value.
    /// ## Why is this bad?
    /// The skill would be refused when its turn comes.
    /// ## Example
    /// `"inputMappings": {"style": "concise"}` gets an `"article": "start"` too.
    UNMAPPED_INPUT = "workflow-unmapped-input", Error;

    /// ## What it does
    /// Flags a node that no way from a start leads to.
    /// ## Why is this bad?
    /// It never runs.
    /// ## Example
    /// Add an edge to it, or remove it.
    UNREACHABLE_NODE = "workflow-unreachable-node", Warning;

    /// ## What it does
    /// Flags a mapping to an input that the skill does not declare, or of a value that the input can't have.
    /// ## Why is this bad?
    /// The value would go nowhere, or the skill be refused when its turn comes.
    /// ## Example
    /// `"inputMappings": {"artcle": "start"}` becomes `"inputMappings": {"article": "start"}`.
    WRONG_MAPPING = "workflow-wrong-mapping", Error;
}
