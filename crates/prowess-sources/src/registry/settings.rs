//! Which registries there are, and which one a name belongs to.

use std::path::{Path, PathBuf};

use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use prowess_store::source::{SourceError, SourceErrorKind};
use toml::{Table, Value};
use url::Url;

use crate::web;
use prowess_settings::{CONFIG_FILE, KeySource, parse_config, read_config, variable};

/// The variable with the address or the name of the usual registry.
pub const REGISTRY_VARIABLE: &str = "PROWESS_REGISTRY";
/// The variable with a token for the usual registry.
pub const TOKEN_VARIABLE: &str = "PROWESS_TOKEN";
/// The folder of saved tokens, in the folder of settings.
const SAVED_TOKENS: &str = "registry-tokens";
/// What the usual registry is called when a variable gives its address.
const UNNAMED: &str = "default";

/// Everything that is configured about registries. It holds no token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registries {
    /// All of them, in the order of the file.
    pub all: Vec<Registry>,
    /// Which of them is asked for names that belong to none.
    usual: Option<usize>,
    /// The folder of tokens that `login` has saved, one file for each registry.
    saved_tokens: Option<PathBuf>,
}

/// A registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// What it is called here.
    pub name: String,
    /// Its address, without a slash at the end.
    pub url: String,
    /// What it speaks.
    pub kind: RegistryKind,
    /// Namespaces that belong to it, and are never looked for elsewhere (attack registry-A9).
    pub namespaces: Vec<SkillName>,
    /// Where its token comes from.
    pub token: KeySource,
}

/// What a registry speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryKind {
    /// `docs/design/registry-protocol.md`.
    Prowess,
    /// The interface of ClawHub.
    ClawHub,
}

impl Registries {
    /// Reads the file in the folder, which need not exist, and puts it together with the variables.
    pub fn load(variables: &[(String, String)], config_folder: &Path) -> Result<Self, SourceError> {
        let path = config_folder.join(CONFIG_FILE);
        let text = read_config(&path)
            .map_err(|why| wrong(format!("cannot read `{}`: {why}", path.display())))?;
        Self::of(variables, text.as_deref(), config_folder).map_err(|why| {
            // What a variable says is no fault of the file, which may not even be there.
            if why.starts_with(&format!("`{REGISTRY_VARIABLE}`")) {
                return wrong(format!("the variable {why}"))
                    .advice("or give it the name of a `[registries.NAME]` of your settings");
            }
            wrong(format!("`{}` is not valid: {why}", path.display()))
        })
    }

    /// Parses the text of the settings file. The error is a phrase.
    pub fn of(
        variables: &[(String, String)],
        config: Option<&str>,
        config_folder: &Path,
    ) -> Result<Self, String> {
        let table = parse_config(config.unwrap_or_default())?;
        let mut registries =
            Self { saved_tokens: Some(config_folder.join(SAVED_TOKENS)), ..Self::default() };
        if let Some(listed) = table.get("registries") {
            let listed = listed
                .as_table()
                .ok_or("`registries` has to be a table such as `[registries.work]`")?;
            for (name, fields) in listed {
                let fields = fields
                    .as_table()
                    .ok_or_else(|| format!("`registries.{name}` has to be a table"))?;
                let registry = registry(name, fields, variables, config_folder)?;
                registries.all.push(registry);
            }
        }
        registries.refuse_shared_namespaces()?;
        let named = table.get("registry").map(|value| {
            value.as_str().map(str::to_owned).ok_or("`registry` has to be a text".to_owned())
        });
        registries.usual =
            registries.usual(variable(variables, REGISTRY_VARIABLE), named.transpose()?)?;
        if let Some(usual) = registries.usual
            && registries.all[usual].token == KeySource::None
        {
            registries.all[usual].token =
                KeySource::Variable { name: TOKEN_VARIABLE.to_owned(), is_needed: false };
        }
        Ok(registries)
    }

    /// The file in which the token of a registry is saved. It is named after the hash of the address, which is the only
    /// server that the token is sent to.
    pub fn saved_token(&self, registry: &Registry) -> Option<PathBuf> {
        let name = Sha256Digest::of(registry.url.as_bytes()).to_string();
        Some(self.saved_tokens.as_ref()?.join(name))
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The registry that is asked for names that belong to none.
    pub fn usual_one(&self) -> Option<&Registry> {
        self.all.get(self.usual?)
    }

    /// The one registry that a namespace is looked for in. There is never a second one: whoever could publish the same name
    /// there would decide what is installed (attack registry-A9).
    pub fn of_namespace(&self, namespace: Option<&SkillName>) -> Result<&Registry, SourceError> {
        let owner = namespace.and_then(|namespace| {
            self.all.iter().find(|registry| registry.namespaces.contains(namespace))
        });
        owner.or_else(|| self.usual_one()).ok_or_else(|| {
            let what = match namespace {
                Some(namespace) => format!("no registry is configured for `{namespace}`"),
                None => "no registry is configured".to_owned(),
            };
            SourceError::new(SourceErrorKind::Unusable, what).advice(format!(
                "set `{REGISTRY_VARIABLE}`, or write `[registries.NAME]` with `url = \"https://…\"` into `{CONFIG_FILE}`"
            ))
        })
    }

    /// The registry that a lock has recorded. It may be one that is not configured here, which then gets no token; but it
    /// may not be another one than the namespace belongs to.
    pub fn of_address(
        &self,
        url: &str,
        namespace: Option<&SkillName>,
    ) -> Result<Registry, SourceError> {
        let owner = namespace.and_then(|namespace| {
            self.all.iter().find(|registry| registry.namespaces.contains(namespace))
        });
        if let (Some(owner), Some(namespace)) = (owner, namespace)
            && owner.url != url
        {
            return Err(SourceError::new(
                SourceErrorKind::Unusable,
                format!(
                    "`{namespace}` belongs to the registry `{}`, and is not taken from {}",
                    owner.url,
                    crate::short(url)
                ),
            )
            .advice(format!(
                "remove `{namespace}` from `registries.{}.namespaces`, or install it again",
                owner.name
            )));
        }
        if let Some(known) = self.all.iter().find(|registry| registry.url == url) {
            return Ok(known.clone());
        }
        Ok(Registry {
            name: "recorded".to_owned(),
            url: address(url).map_err(wrong)?,
            kind: RegistryKind::Prowess,
            namespaces: Vec::new(),
            token: KeySource::None,
        })
    }

    fn refuse_shared_namespaces(&self) -> Result<(), String> {
        for (number, registry) in self.all.iter().enumerate() {
            for namespace in &registry.namespaces {
                let other =
                    self.all[..number].iter().find(|one| one.namespaces.contains(namespace));
                if let Some(other) = other {
                    return Err(format!(
                        "the namespace `{namespace}` belongs to both `registries.{}` and `registries.{}`: choose one",
                        other.name, registry.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// The variable first, then the file, then the only one that takes all names.
    fn usual(
        &mut self,
        by_variable: Option<&str>,
        by_file: Option<String>,
    ) -> Result<Option<usize>, String> {
        let position = |all: &[Registry], name: &str| all.iter().position(|one| one.name == name);
        if let Some(text) = by_variable {
            if let Some(known) = position(&self.all, text) {
                return Ok(Some(known));
            }
            // The value is not repeated: people put tokens into addresses.
            let url = address(text).map_err(|why| format!("`{REGISTRY_VARIABLE}` {why}"))?;
            if let Some(known) = self.all.iter().position(|one| one.url == url) {
                return Ok(Some(known));
            }
            self.all.push(Registry {
                name: UNNAMED.to_owned(),
                url,
                kind: RegistryKind::Prowess,
                namespaces: Vec::new(),
                token: KeySource::None,
            });
            return Ok(Some(self.all.len() - 1));
        }
        if let Some(name) = by_file {
            let known = position(&self.all, &name);
            return known.map(Some).ok_or_else(|| {
                format!("`registry` is `{name}`, and there is no `[registries.{name}]`")
            });
        }
        let open: Vec<usize> =
            (0..self.all.len()).filter(|number| self.all[*number].namespaces.is_empty()).collect();
        match open.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            [one, other, ..] => Err(format!(
                "`registries.{}` and `registries.{}` both take all names: give one of them `namespaces`, or choose with `registry = \"{}\"`",
                self.all[*one].name, self.all[*other].name, self.all[*one].name
            )),
        }
    }
}

fn registry(
    name: &str,
    fields: &Table,
    variables: &[(String, String)],
    config_folder: &Path,
) -> Result<Registry, String> {
    let place = format!("registries.{name}");
    let mut url = None;
    let mut kind = RegistryKind::Prowess;
    let mut namespaces = Vec::new();
    let mut token = KeySource::None;
    for (field, value) in fields {
        let place = format!("{place}.{field}");
        match field.as_str() {
            "url" => {
                url = Some(
                    address(string(&place, value)?).map_err(|why| format!("`{place}` {why}"))?,
                );
            }
            "kind" => {
                kind = match string(&place, value)? {
                    "prowess" => RegistryKind::Prowess,
                    "clawhub" => RegistryKind::ClawHub,
                    other => {
                        return Err(format!(
                            "`{place}` is `{other}`, and should be `prowess` or `clawhub`"
                        ));
                    }
                };
            }
            "namespaces" => {
                let list = value.as_array().ok_or_else(|| format!("`{place}` has to be a list"))?;
                for entry in list {
                    let namespace = string(&place, entry)?.parse();
                    namespaces.push(namespace.map_err(
                        |error: prowess_package::name::SkillNameError| {
                            format!("`{place}`: {error}")
                        },
                    )?);
                }
            }
            "token_env" => {
                let name = string(&place, value)?.to_owned();
                token = KeySource::Variable { name, is_needed: true };
            }
            "token_file" => {
                let text = string(&place, value)?;
                let path = match (text.strip_prefix("~/"), variable(variables, "HOME")) {
                    (Some(rest), Some(home)) => Path::new(home).join(rest),
                    _ => config_folder.join(text),
                };
                token = KeySource::File(path);
            }
            "token" | "key" => {
                return Err(format!(
                    "`{place}`: a token does not belong into this file, use `token_env` or `token_file`"
                ));
            }
            _ => return Err(format!("`{place}` is not a setting")),
        }
    }
    let url = url.ok_or_else(|| format!("`{place}` has no `url`"))?;
    Ok(Registry { name: name.to_owned(), url, kind, namespaces, token })
}

/// The one spelling of a registry's address, which is part of the identity of its skills. The error is a phrase behind its
/// name.
fn address(text: &str) -> Result<String, String> {
    let mut url = Url::parse(text).map_err(|_| "is not a URL; write `https://HOST`".to_owned())?;
    web::parse(url.as_str()).map_err(|_| {
        "has to begin with `https://`, without a name or a password; only this machine is asked over `http://`".to_owned()
    })?;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn string<'v>(place: &str, value: &'v Value) -> Result<&'v str, String> {
    value.as_str().map(str::trim).ok_or_else(|| format!("`{place}` has to be a text"))
}

fn wrong(what: String) -> SourceError {
    SourceError::new(SourceErrorKind::Unusable, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variable: Option<&str>, config: &str) -> Result<Registries, String> {
        let variables: Vec<(String, String)> = variable
            .map(|value| (REGISTRY_VARIABLE.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        Registries::of(&variables, Some(config), Path::new("/config"))
    }

    const TWO: &str = "[registries.public]\nurl = \"https://public.example/\"\n\
                       [registries.work]\nurl = \"https://work.example\"\nnamespaces = [\"acme\"]\n";

    #[track_caller]
    fn check(variable: Option<&str>, config: &str, namespace: Option<&str>, expected: &str) {
        let registries = read(variable, config).expect("settings");
        let namespace = namespace.map(|text| text.parse().expect("a name"));
        let found = match registries.of_namespace(namespace.as_ref()) {
            Ok(registry) => registry.url.clone(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_namespace_belongs_to_one_registry() {
        // Attack registry-A9: the private namespace is never looked for in public, whatever else is set.
        check(None, TWO, Some("acme"), "https://work.example");
        check(Some("https://other.example"), TWO, Some("acme"), "https://work.example");
        check(None, TWO, Some("else"), "https://public.example");
        check(None, TWO, None, "https://public.example");
        check(Some("https://other.example/x/"), TWO, None, "https://other.example/x");
        check(Some("work"), TWO, None, "https://work.example");
        check(None, "", None, "no registry is configured");
        check(None, "", Some("acme"), "no registry is configured for `acme`");
    }

    #[test]
    fn a_recorded_registry_is_kept_unless_the_namespace_has_moved() {
        let registries = read(None, TWO).expect("settings");
        let acme: SkillName = "acme".parse().expect("a name");
        let of = |url: &str, namespace: Option<&SkillName>| match registries
            .of_address(url, namespace)
        {
            Ok(registry) => format!("{} {:?}", registry.url, registry.token),
            Err(error) => error.to_string(),
        };
        assert_eq!(of("https://work.example", Some(&acme)), "https://work.example None");
        assert_eq!(
            of("https://public.example", Some(&acme)),
            "`acme` belongs to the registry `https://work.example`, and is not taken from https://public.example"
        );
        assert_eq!(of("https://new.example", None), "https://new.example None");
        assert!(of("http://new.example", None).contains("has to begin with `https://`"));
    }

    #[track_caller]
    fn check_error(variable: Option<&str>, config: &str, expected: &str) {
        assert_eq!(read(variable, config).expect_err("refused"), expected);
    }

    #[test]
    fn settings_that_could_mean_two_things_are_refused() {
        check_error(
            None,
            "[registries.a]\nurl = \"https://a.example\"\n[registries.b]\nurl = \"https://b.example\"\n",
            "`registries.a` and `registries.b` both take all names: give one of them `namespaces`, or choose with `registry = \"a\"`",
        );
        check_error(
            None,
            "[registries.a]\nurl = \"https://a.example\"\nnamespaces = [\"x\"]\n[registries.b]\nurl = \"https://b.example\"\nnamespaces = [\"x\"]\n",
            "the namespace `x` belongs to both `registries.a` and `registries.b`: choose one",
        );
        check_error(
            None,
            "[registries.a]\nurl = \"http://a.example\"\n",
            "`registries.a.url` has to begin with `https://`, without a name or a password; only this machine is asked over `http://`",
        );
        check_error(
            Some("https://ada:secret@a.example"),
            "",
            "`PROWESS_REGISTRY` has to begin with `https://`, without a name or a password; only this machine is asked over `http://`",
        );
        check_error(
            None,
            "[registries.a]\nurl = \"https://a.example\"\ntoken = \"secret\"\n",
            "`registries.a.token`: a token does not belong into this file, use `token_env` or `token_file`",
        );
        check_error(None, "[registries.a]\n", "`registries.a` has no `url`");
        check_error(
            None,
            "registry = \"a\"\n",
            "`registry` is `a`, and there is no `[registries.a]`",
        );
        check_error(
            None,
            "[registries.a]\nurl = \"https://a.example\"\nnamespaces = [\"../x\"]\n",
            "`registries.a.namespaces`: `../x` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `x`?)",
        );
    }
}
