//! Tests of the policy crate. The helpers here parse skills, request decisions and format them.

mod approvals;
mod changes;
mod decisions;
mod declarations;
mod environment;
mod explanations;
mod laws;
mod matrix;
mod modes;
mod scopes;
mod specs;
mod tool_rules;
mod user_grants;

use prowess_format::skill::Skill;
use prowess_format::{ReadOptions, form_of};
use prowess_policy::{
    Approvals, Badge, Decision, Digest, Grant, GrantEffect, GrantSet, GrantSource, Mode, Origin,
    ProgramPin, RunFolders, RunRequest, Tier, Trust, decide_with_effects, explain, grants,
};

/// Parses a skill; its dialect is detected.
fn skill(text: &str) -> Skill {
    prowess_format::check(text, ReadOptions::DETECT).skill
}

/// Parses the skill of a fixture; its dialect is detected.
fn skill_of(path: &str) -> Skill {
    let text = prowess_testkit::fixture(path);
    let options = ReadOptions { form: form_of(path), ..ReadOptions::DETECT };
    prowess_format::check(&text, options).skill
}

/// A skill with one command tool `run` and these lines of front matter.
fn command_skill(lines: &str, command: &str) -> Skill {
    let lines = if lines.is_empty() { String::new() } else { format!("{lines}\n") };
    let text = format!(
        "---\nname: demo\nversion: 1.0.0\ndescription: Does something\nmodes: [Global, Dev]\n{lines}---\n\n### run\n\nRuns.\n\n#### Command\n\n```bash\n{command}\n```\n"
    );
    let options =
        ReadOptions { dialect: prowess_format::dialect::by_id("gibberish"), ..ReadOptions::DETECT };
    prowess_format::check(&text, options).skill
}

/// A skill with one Python tool `run` and these permissions.
fn python_skill(permissions: &[&str]) -> Skill {
    let permissions: Vec<String> = permissions.iter().map(|text| format!("  - {text}\n")).collect();
    let permissions = permissions.concat();
    let text = format!(
        "---\nname: demo\nversion: 1.0.0\ndescription: Does something\nauthor: a\nlicense: MIT\npermissions:\n{permissions}tools:\n  - name: run\n    description: Runs\nsecurity_tier: verified\n---\n\n# Demo\n"
    );
    skill(&text)
}

/// The parameters of a run that tests vary.
#[derive(Clone)]
struct Run {
    tier: Tier,
    origin: Origin,
    mode: Mode,
    approvals: Approvals,
    digest: &'static str,
    pins: Vec<ProgramPin>,
    in_home: bool,
    /// The working directory.
    project: &'static str,
    /// The skill's folder.
    folder: &'static str,
    /// The hashes of its files.
    files: &'static [(&'static str, &'static str)],
}

impl Run {
    fn new(tier: Tier, origin: Origin) -> Self {
        Self {
            tier,
            origin,
            mode: Mode::Global,
            approvals: Approvals::new(Vec::new()),
            digest: "first",
            pins: Vec::new(),
            in_home: false,
            project: "/work/a",
            folder: "/skills/demo",
            files: &[],
        }
    }

    /// The decision about the only tool of a skill.
    fn decide(&self, skill: &Skill) -> Decision {
        self.decide_with(skill, &grants::of(skill))
    }

    fn decide_with(&self, skill: &Skill, grants: &GrantSet) -> Decision {
        self.decide_fully(skill, grants, &|_| GrantEffect::AsGranted)
    }

    /// The decision on a machine that can't provide all grants.
    fn decide_on(&self, skill: &Skill, effect_of: &dyn Fn(&Grant) -> GrantEffect) -> Decision {
        self.decide_fully(skill, &grants::of(skill), effect_of)
    }

    fn decide_fully(
        &self,
        skill: &Skill,
        grants: &GrantSet,
        effect_of: &dyn Fn(&Grant) -> GrantEffect,
    ) -> Decision {
        let trust = Trust::of(skill, self.tier, None::<Badge>, self.origin);
        let tool = &skill.tools.first().expect("the skill has a tool").name;
        let digest = Digest::new(self.digest);
        let request = RunRequest::of(skill, "demo", tool, digest, self.pins.clone())
            .expect("the tool is the skill's own");
        let request = request.with_folders(folders(self.folder, self.project)).with_files(
            self.files
                .iter()
                .map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned()))
                .collect(),
        );
        let request = if self.in_home { request.in_home() } else { request };
        decide_with_effects(&request, trust, grants, &self.approvals, self.mode, effect_of)
    }
}

fn folders(skill: &str, project: &str) -> RunFolders {
    RunFolders { skill: skill.to_owned(), project: project.to_owned() }
}

/// A decision in one line; reasons are marked with `every time` and `no --yes`.
fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Allow(_) => "runs".to_owned(),
        Decision::Deny(denied) => {
            let reasons = denied.reasons().iter().map(ToString::to_string);
            format!("refused: {}", reasons.collect::<Vec<_>>().join("; "))
        }
        Decision::Ask(question) => {
            let reasons = question.reasons().iter().map(|reason| {
                let grant =
                    reason.grant.as_ref().map_or_else(String::new, |grant| format!(" {grant}"));
                let every = match reason.frequency {
                    prowess_policy::Frequency::EveryRun => " every time",
                    prowess_policy::Frequency::UntilApproved => "",
                };
                let yes = if reason.in_advance { "" } else { " no --yes" };
                format!("{:?}{grant}{every}{yes}", reason.kind)
            });
            format!("asks: {}", reasons.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The explanation of a decision.
fn explained(decision: &Decision) -> String {
    explain(decision).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Parses grants.
fn granted(text: &str) -> Vec<prowess_policy::Grant> {
    prowess_policy::Grant::parse(text, &GrantSource::Declared(text.to_owned()))
        .unwrap_or_else(|error| panic!("`{text}`: {error}"))
}
