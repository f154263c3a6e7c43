//! Rules: one file each. A rule's doc comment is its page.

mod code_phrases;
mod other_languages;
mod simple;
mod words;

use crate::findings::Findings;
use crate::phrase::Phrase;
use crate::rule::ScanRule;
use crate::subject::Subject;

macro_rules! rules {
    ($($module:ident $name:ident)+) => {
        $(mod $module; pub(crate) use $module::$name;)+
        /// Every rule, by name.
        pub static ALL: &[&ScanRule] = &[$(&$name),+];
    };
}

rules! {
    agent_hook AGENT_HOOK
    agent_tampering AGENT_TAMPERING
    chat_markup CHAT_MARKUP
    claimed_authority CLAIMED_AUTHORITY
    concealment CONCEALMENT
    credential_request CREDENTIAL_REQUEST
    decode_exec DECODE_EXEC
    destructive_command DESTRUCTIVE_COMMAND
    disabled_protection DISABLED_PROTECTION
    download_exec DOWNLOAD_EXEC
    dynamic_code DYNAMIC_CODE
    encoded_payload ENCODED_PAYLOAD
    exfiltration_order EXFILTRATION_ORDER
    external_tool EXTERNAL_TOOL
    fake_prerequisite FAKE_PREREQUISITE
    hidden_endpoint HIDDEN_ENDPOINT
    hidden_instruction HIDDEN_INSTRUCTION
    hidden_unicode HIDDEN_UNICODE
    instruction_override INSTRUCTION_OVERRIDE
    known_malware KNOWN_MALWARE
    leaked_secret LEAKED_SECRET
    lookalike_letters LOOKALIKE_LETTERS
    memory_poisoning MEMORY_POISONING
    metadata_service METADATA_SERVICE
    miner MINER
    new_capability NEW_CAPABILITY
    opaque_code OPAQUE_CODE
    persistence PERSISTENCE
    persona_override PERSONA_OVERRIDE
    privileged_container PRIVILEGED_CONTAINER
    receiver_address RECEIVER_ADDRESS
    refused_command REFUSED_COMMAND
    resolver_exfiltration RESOLVER_EXFILTRATION
    result_tampering RESULT_TAMPERING
    reverse_shell REVERSE_SHELL
    risky_dependency RISKY_DEPENDENCY
    second_opinion SECOND_OPINION
    secret_collection SECRET_COLLECTION
    secret_file SECRET_FILE
    secret_to_network SECRET_TO_NETWORK
    spyware SPYWARE
    system_tool_abuse SYSTEM_TOOL_ABUSE
    tool_shadowing TOOL_SHADOWING
    unasked_action UNASKED_ACTION
    undeclared_capability UNDECLARED_CAPABILITY
    unparseable_code UNPARSEABLE_CODE
    unscanned_file UNSCANNED_FILE
    untrusted_instructions UNTRUSTED_INSTRUCTIONS
    world_writable WORLD_WRITABLE
}

/// The phrases of all rules.
pub(crate) static PHRASES: &[&[&Phrase]] = &[
    code_phrases::PHRASES,
    claimed_authority::PHRASES,
    concealment::PHRASES,
    credential_request::PHRASES,
    encoded_payload::PHRASES,
    exfiltration_order::PHRASES,
    fake_prerequisite::PHRASES,
    hidden_instruction::PHRASES,
    instruction_override::PHRASES,
    memory_poisoning::PHRASES,
    other_languages::PHRASES,
    persistence::PHRASES,
    persona_override::PHRASES,
    result_tampering::PHRASES,
    risky_dependency::PHRASES,
    tool_shadowing::PHRASES,
    unasked_action::PHRASES,
    untrusted_instructions::PHRASES,
];

/// Looks up a rule by its name.
pub fn by_name(name: &str) -> Option<&'static ScanRule> {
    ALL.iter().copied().find(|rule| rule.rule.name == name)
}

/// Runs every rule.
pub(crate) fn run(subject: &Subject<'_>, findings: &mut Findings) {
    for rule in ALL {
        if let Some(check) = rule.check {
            check(subject, findings);
        }
    }
}
