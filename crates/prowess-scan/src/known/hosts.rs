//! Services, as data: where installers come from, where anybody can put a text, where anybody can receive one.

/// Hosts of installers that are run as they come, with what they install. A skill that uses one of them does what the
/// documentation of that tool says.
pub(crate) const INSTALLERS: &[&str] = &[
    "sh.rustup.rs",
    "rustup.rs",
    "astral.sh",
    "install.python-poetry.org",
    "get.docker.com",
    "bun.sh",
    "deno.land",
    "get.pnpm.io",
    "fnm.vercel.app",
    "get.volta.sh",
    "get.sdkman.io",
    "nixos.org",
    "install.determinate.systems",
    "deb.nodesource.com",
    "rpm.nodesource.com",
    "pyenv.run",
    "pixi.sh",
    "mise.run",
    "mise.jdx.dev",
    "starship.rs",
    "ollama.com",
    "ollama.ai",
    "fly.io",
    "tailscale.com",
    "get.k3s.io",
    "get.helm.sh",
    "railway.app",
    "railway.com",
    "cli.github.com",
    "claude.ai",
    "code.claude.com",
    "cursor.com",
    "opencode.ai",
    "get.pulumi.com",
    "install.meteor.com",
    "cli.doppler.com",
    "sentry.io",
    "cli.sentry.dev",
    "releases.hashicorp.com",
    "dl.google.com",
    "sdk.cloud.google.com",
    "aka.ms",
    "dot.net",
    "get.scoop.sh",
    "community.chocolatey.org",
    "raw.githubusercontent.com/nvm-sh",
    "raw.githubusercontent.com/Homebrew",
    "raw.githubusercontent.com/helm",
    "raw.githubusercontent.com/ohmyzsh",
    "raw.githubusercontent.com/pyenv",
    "raw.githubusercontent.com/rust-lang",
    "raw.githubusercontent.com/aquasecurity",
    "raw.githubusercontent.com/anchore",
    "raw.githubusercontent.com/trufflesecurity",
    "raw.githubusercontent.com/golangci",
    "raw.githubusercontent.com/k3d-io",
    "raw.githubusercontent.com/micromamba",
    "micro.mamba.pm",
    "get.jetify.com",
    "devbox.sh",
    "moonrepo.dev",
    "just.systems",
    "dagger.io",
    "dl.dagger.io",
    "ghcup.haskell.org",
    "get-ghcup.haskell.org",
    "julialang.org",
    "install.julialang.org",
    "get.haskellstack.org",
    "foundry.paradigm.xyz",
    "sh.solana.com",
    "release.solana.com",
    "release.anza.xyz",
    "cli.codecov.io",
    "semgrep.dev",
    "cli.coderabbit.ai",
    "get.anchore.io",
    "syft.dev",
    "snyk.io",
    "static.snyk.io",
    "get.trunk.io",
    "supabase.com",
    "cli.supabase.com",
    "neon.tech",
    "get.tur.so",
    "planetscale.com",
    "vercel.com",
    "netlify.com",
    "expo.dev",
    "stripe.com",
    "elastic.co",
    "artifacts.elastic.co",
    "get.elastic.co",
    "microsoft.com",
    "amazon.com",
    "amazonaws.com",
    "aws.amazon.com",
    "awscli.amazonaws.com",
    "desktop-release.q.us-east-1.amazonaws.com",
    "cli.kiro.dev",
    "docs.anthropic.com",
    "antigravity.google",
    "ampcode.com",
    "gh.io",
    "bootstrap.pypa.io",
    "install.duckdb.org",
    "clickhouse.com",
    "cockroachlabs.com",
    "influxdata.com",
    "grafana.com",
    "datadoghq.com",
    "install.datadoghq.com",
    "newrelic.com",
    "download.newrelic.com",
    "temporal.download",
    "openclaw.ai",
    "molt.bot",
    "clawd.bot",
    "get.sst.dev",
    "sst.dev",
    "wasmtime.dev",
    "wasmer.io",
    "get.wasmer.io",
    "git.io",
    "flutter.dev",
    "zed.dev",
    "warp.dev",
    "app.warp.dev",
    "tea.xyz",
    "pkgx.sh",
    "cargo-binstall",
    "raw.githubusercontent.com/cargo-bins",
    "nextflow.io",
    "get.nextflow.io",
    "quarto.org",
    "typst.community",
    "brew.sh",
    "code.visualstudio.com",
    "playwright.dev",
    "webi.sh",
    "webinstall.dev",
    "x-cmd.com",
    "get.x-cmd.com",
    "ngrok.com",
    "dl.k8s.io",
    "kubectl",
    "kind.sigs.k8s.io",
    "istio.io",
    "linkerd.io",
    "run.linkerd.io",
    "cilium.io",
    "fluxcd.io",
    "argoproj.github.io",
    "get.glasskube.dev",
    "taskfile.dev",
    "gitleaks",
    "get.opentofu.org",
    "terraform.io",
    "packages.microsoft.com",
    "tauri.app",
];

/// Owners on GitHub whose releases are what the documentation of well-known programs installs.
const RELEASES: &str = "cli BurntSushi sharkdp junegunn jqlang stedolan mikefarah helm kubernetes kubernetes-sigs docker \
    moby containerd astral-sh denoland oven-sh nodejs python golang rust-lang neovim vim git-lfs git-for-windows hashicorp \
    terraform-linters opentofu aquasecurity anchore gitleaks trufflesecurity golangci prometheus grafana protocolbuffers grpc \
    bufbuild nushell starship casey ajeetdsouza dandavison jesseduffield zellij-org helix-editor yt-dlp BtbN jgm mozilla \
    ggml-org ollama duckdb Homebrew nvm-sh pyenv asdf-vm jdx aws awslabs Azure google GoogleCloudPlatform GoogleContainerTools \
    microsoft PowerShell cloudflare supabase vercel stripe digitalocean projectdiscovery argoproj fluxcd istio linkerd cilium \
    k3s-io k3d-io derailed rancher sigstore hadolint koalaman mvdan rhysd restic rclone FiloSottile caddyserver traefik \
    minio etcd-io open-policy-agent goreleaser gohugoio getzola rust-lang-nursery rust-cross cross-rs cargo-bins \
    rustwasm wasmerio bytecodealliance WebAssembly llvm ninja-build Kitware conda-forge mamba-org prefix-dev quarto-dev typst \
    pandoc tesseract-ocr ImageMagick valentjn github actions nektos apache elastic pulumi open-telemetry jaegertracing \
    tailscale wagoodman bootandy eza-community ogham tldr-pages charmbracelet atuinsh direnv NixOS twpayne httpie \
    ducaale xo jorgebucaran sdkman biomejs evanw vectordotdev";

/// Registries of packages and archives of distributions.
pub(crate) const REGISTRIES: &[&str] = &[
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "npmjs.com",
    "registry.yarnpkg.com",
    "crates.io",
    "static.crates.io",
    "rubygems.org",
    "proxy.golang.org",
    "repo.maven.apache.org",
    "conda.anaconda.org",
    "nuget.org",
    "packagist.org",
    "hub.docker.com",
    "ghcr.io",
    "deb.debian.org",
    "archive.ubuntu.com",
];

/// Forges, on which an owner has a name.
pub(crate) const FORGES: &[&str] = &[
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "huggingface.co",
    "dev.azure.com",
    "sr.ht",
    "gitee.com",
    "googlesource.com",
    "gnome.org",
    "kernel.org",
    "savannah.gnu.org",
    "source.developers.google.com",
];

/// Services on which anybody publishes a text without a name.
pub(crate) const PASTE: &[&str] = &[
    "pastebin.com",
    "glot.io",
    "rentry.co",
    "rentry.org",
    "paste.ee",
    "hastebin.com",
    "dpaste.com",
    "dpaste.org",
    "ghostbin.com",
    "controlc.com",
    "justpaste.it",
    "paste.rs",
    "0x0.st",
    "ix.io",
    "termbin.com",
    "transfer.sh",
    "file.io",
    "anonfiles.com",
    "gofile.io",
    "catbox.moe",
    "litterbox.catbox.moe",
    "bashupload.com",
    "temp.sh",
    "oshi.at",
    "telegra.ph",
    "sprunge.us",
    "paste.mozilla.org",
    "pasteio.com",
    "write.as",
    "privatebin.net",
    "mediafire.com",
    "mega.nz",
    "cdn.discordapp.com",
    "snippet.host",
    "textbin.net",
    "bpa.st",
    "paste.c-net.org",
    "ghostbin.co",
];

/// Services that receive whatever is sent to them, and tunnels to machines that nobody knows.
pub(crate) const RECEIVERS: &[&str] = &[
    "webhook.site",
    "requestbin.com",
    "requestbin.net",
    "pipedream.net",
    "m.pipedream.net",
    "requestcatcher.com",
    "hookbin.com",
    "beeceptor.com",
    "mockbin.org",
    "ngrok.io",
    "ngrok.app",
    "ngrok.dev",
    "ngrok-free.app",
    "ngrok-free.dev",
    "trycloudflare.com",
    "loca.lt",
    "localhost.run",
    "serveo.net",
    "bore.pub",
    "pagekite.me",
    "burpcollaborator.net",
    "oastify.com",
    "interact.sh",
    "oast.fun",
    "oast.pro",
    "oast.live",
    "oast.site",
    "oast.online",
    "oast.me",
    "dnslog.cn",
    "ceye.io",
    "canarytokens.com",
    "ptsv2.com",
    "ptsv3.com",
    "putsreq.com",
    "postb.in",
    "api.telegram.org/bot",
    "discord.com/api/webhooks",
    "discordapp.com/api/webhooks",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "termbin.com",
    "webhook.cool",
    "typedwebhook.tools",
    "localtunnel.me",
    "tunnelmole.net",
    "devtunnels.ms",
    "zrok.io",
    "pinggy.io",
    "pinggy.link",
    "portmap.io",
    "duckdns.org",
    "no-ip.org",
    "hopto.org",
    "ddns.net",
];

/// Short addresses that say nothing about where they lead.
pub(crate) const SHORTENERS: &[&str] = &[
    "bit.ly",
    "tinyurl.com",
    "t.co",
    "goo.gl",
    "is.gd",
    "v.gd",
    "cutt.ly",
    "rebrand.ly",
    "rb.gy",
    "shorturl.at",
    "ow.ly",
    "t.ly",
    "tiny.cc",
    "s.id",
    "surl.li",
];

/// Whether an address is of one of some services: the host or one below it, and the beginning of the path if the list has one.
pub(crate) fn is_of(url: &str, known: &[&str]) -> bool {
    let (host, path) = split(url);
    known.iter().any(|known| {
        let (wanted, rest) =
            known.split_once('/').map_or((*known, ""), |(host, rest)| (host, rest));
        let is_host =
            host == wanted || host.strip_suffix(wanted).is_some_and(|before| before.ends_with('.'));
        let path = path.trim_start_matches('/').to_lowercase();
        let after = path.strip_prefix(&rest.to_lowercase());
        // An owner on a forge is a whole name, not the beginning of one.
        let is_owner = wanted == "raw.githubusercontent.com";
        is_host
            && after.is_some_and(|after| {
                !is_owner || rest.is_empty() || after.is_empty() || after.starts_with('/')
            })
    })
}

/// Whether an address is that of a release of a well-known project. What anybody attaches to an issue of such a project has
/// the same owner and is none.
fn is_known_release(url: &str) -> bool {
    let (host, path) = split(url);
    let mut parts = path.trim_start_matches('/').split('/');
    let owner = parts.next().unwrap_or_default();
    host == "github.com"
        && parts.nth(1) == Some("releases")
        && RELEASES.split_whitespace().any(|known| known.eq_ignore_ascii_case(owner))
}

/// The host and the path of an address, with or without a scheme.
pub(crate) fn split(url: &str) -> (String, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.starts_with('[') {
        host.split(']').next().unwrap_or(host).trim_start_matches('[')
    } else {
        host.split(':').next().unwrap_or(host)
    };
    (host.trim_end_matches('.').to_ascii_lowercase(), &rest[end..])
}

/// Whether a host is an address of four numbers, or of IPv6, in any notation that programs accept.
pub(crate) fn is_address(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && (part.bytes().all(|byte| byte.is_ascii_digit())
                || part
                    .strip_prefix("0x")
                    .is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())))
    };
    (parts.iter().all(is_number) && parts.len() <= 4)
        || (host.contains(':')
            && host.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')))
}

/// Whether a host is this machine or a private network.
pub(crate) fn is_local(host: &str) -> bool {
    if matches!(host, "localhost" | "0.0.0.0" | "::1" | "host.docker.internal" | "")
        || matches!(host.rsplit_once('.'), Some((_, "local" | "localhost" | "internal")))
    {
        return !host.starts_with("metadata.");
    }
    let mut parts = host.split('.').map(|part| part.parse::<u8>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(127 | 10), Some(_)) => true,
        (Some(192), Some(168)) => true,
        (Some(172), Some(second)) => (16..32).contains(&second),
        _ => false,
    }
}

/// How an address looks to somebody who is about to run what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// A known installer, or this machine.
    Known,
    /// A host that nothing is known about, or that is computed.
    Unknown,
    /// An address without a name, a paste, a short address, or an open connection.
    Bad,
}

/// The standing of an address.
pub(crate) fn standing(url: &str) -> Standing {
    let (host, _) = split(url);
    if is_local(&host) || is_of(url, INSTALLERS) || is_of(url, REGISTRIES) || is_known_release(url)
    {
        Standing::Known
    } else if is_address(&host)
        || is_of(url, PASTE)
        || is_of(url, RECEIVERS)
        || is_of(url, SHORTENERS)
    {
        Standing::Bad
    } else {
        Standing::Unknown
    }
}
