//! Parts of patterns that several phrases share.

/// A part of a pattern.
macro_rules! words {
    (user) => { "(?:the |any |your |an? )?(?:human |end[- ]?)?(?:user|human|person|operator|owner|customer|client|developer|reviewer)s?" };
    (gap) => { "[^\n]{0,60}?" };
    (wide) => { "[^\n]{0,160}?" };
    (secret) => { "(?:api[ _-]?keys?|access[ _-]?(?:keys?|tokens?)|auth(?:entication)? tokens?|session[ _-]?(?:tokens?|cookies?|data|ids?)|bearer tokens?|oauth tokens?|tokens?|secrets?|passwords?|passphrases?|credentials?|private[ _-]?keys?|ssh[ _-]?(?:private[ _-]?)?keys?|cookies?|keychain|seed phrases?|recovery phrases?|mnemonics?|wallets?|\\.env(?: files?)?|environment variables?|env(?:ironment)? vars?|id_rsa|id_ed25519|\\.ssh|\\.aws/credentials|\\.aws|\\.netrc|\\.npmrc|\\.git-credentials|mcp\\.json|process\\.env|os\\.environ|/etc/passwd|/etc/shadow|(?:bash|zsh|shell)[_ ]history|\\.config/gh|cloud profiles?|browser profiles?|\\.kube/config|keystore)" };
    (send) => { "(?:send|sends|sent|sending|post|posts|posting|upload|uploads|uploading|uploaded|exfiltrate[sd]?|transmit|transmits|transmitted|forward|forwards|forwarded|submit|submits|push|pushes|deliver|beacon|report|ship|relay|leak|e-?mail|hand (?:it|them|this|that|everything) (?:over|in)|copy them to|include (?:them|it|the) in (?:the|a) (?:request|url|query))" };
    (remote) => { "(?:https?://|ftp://|wss?://|webhook|(?:remote|external|our|my|this|the following|collection|collector|collaborator|attacker'?s?|third[- ]party|analytics|telemetry|logging|triage|monitoring|audit|backup|c2|command and control|support)[a-z' -]{0,30} ?(?:server|endpoint|url|host|address|service|site|webhook|api|inbox|channel|bucket)|endpoint|telegram|discord|pastebin|[a-z0-9.-]+@[a-z0-9.-]+\\.[a-z]{2,}|\\d+\\.\\d+\\.\\d+\\.\\d+)" };
    (earlier) => { "(?:previous|prior|preceding|earlier|above|foregoing|existing|original|initial|former|past|current|other|system|developer|default|built[- ]?in|safety|security|your|all|any|every|these|those|previously (?:given|provided|received))" };
    (orders) => { "(?:instructions?|directives?|prompts?|rules?|guidelines?|guardrails?|commands?|constraints?|restrictions?|policy|policies|training|programming|directions?|orders?|context|safeguards?|safety (?:measures?|checks?|protocols?|filters?)|limitations?|filters?|objectives?|tasks?|boundaries)" };
}
pub(crate) use words;
