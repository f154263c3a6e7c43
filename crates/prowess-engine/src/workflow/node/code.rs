//! Nodes that run a small Python program, in a sandbox with Python only: no files, no network.
//!
//! No approval is needed, because nothing is granted: it computes an output from its input.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use prowess_policy::scope::Program;
use prowess_sandbox::{
    Capture, ExitReason, Input as StandardInput, Observer, OutputStream, Sandbox, SandboxLimits,
    Spec, SyntheticFile,
};
use serde_json::Value;

use super::super::graph::CodeNode;
use super::{Failure, MAX_OUTPUT, NodeContext, printed};
use crate::fold::RunEnding;
use crate::programs::Finder;
use crate::run::CancellationToken;
use crate::world::World;
use prowess_core::RunOutcome;

/// The path of the program inside the sandbox.
const PROGRAM: &str = "/run/prowess/node.py";
/// Maximum number of processes; threads of libraries count too.
const MAX_PROCESSES: u64 = 64;
/// Maximum length of the error output in a message: Python prints the cause last.
const MAX_SAID: usize = 500;

/// Runs the program. Its standard input is the node's input, and its standard output is the node's output.
pub(super) async fn run(
    scene: &NodeContext<'_, '_, '_>,
    code: &CodeNode,
) -> Result<Value, Failure> {
    let variables: Vec<(String, String)> = code
        .variables
        .iter()
        .map(|(name, _, template)| (name.clone(), template.render(&scene.scope)))
        .collect();
    if let Some((name, _)) = variables.iter().find(|(name, value)| !is_variable(name, value)) {
        return Err(Failure::new(format!("`{name}` is not a valid variable")).advice(
            "a name consists of letters, digits and underscores, and a value contains no NUL",
        ));
    }
    let program = PreparedProgram {
        code: code.code.value.clone(),
        variables,
        input: scene.input.text.clone(),
        limits: SandboxLimits {
            time: code.timeout,
            memory: Some(code.memory),
            processes: MAX_PROCESSES,
            output: MAX_OUTPUT as u64,
            ..SandboxLimits::default()
        },
    };
    let cancel = CancellationToken::default();
    let (world, inner) = (Arc::clone(&scene.context.engine.world), cancel.clone());
    let work = move || on_thread(program, &world, &inner);
    let mut run = pin!(scene.context.executor.run(&cancel, work));
    loop {
        tokio::select! {
            biased;
            () = scene.context.cancel.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            ended = &mut run => return ended?,
        }
    }
}

/// A program with everything that it needs.
struct PreparedProgram {
    code: String,
    variables: Vec<(String, String)>,
    input: String,
    limits: SandboxLimits,
}

fn on_thread(
    program: PreparedProgram,
    world: &World,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let images = finder.images(&Program::Named("python3".to_owned()), &[]).map_err(|error| {
        Failure::new(error.to_string()).advice("`code` nodes need Python: install `python3`")
    })?;
    let [image, others @ ..] = images.programs.as_slice() else {
        return Err(Failure::new("`python3` was not found"));
    };
    let time = program.limits.time;
    let mut spec = Spec::new(image);
    spec.programs = others.to_vec();
    spec.support = images.support;
    // Isolated from variables and folders, without bytecode, in UTF-8.
    spec.arguments = ["-I", "-B", "-X", "utf8", PROGRAM].map(Into::into).into();
    spec.synthetic =
        vec![SyntheticFile { path: PathBuf::from(PROGRAM), bytes: program.code.into_bytes() }];
    let variables = program.variables.into_iter();
    spec.environment = variables.map(|(name, value)| (name.into(), value.into())).collect();
    spec.input = StandardInput::Bytes(program.input.into_bytes());
    spec.limits = program.limits;
    let failed =
        |error: prowess_sandbox::SandboxError| Failure::from(crate::error::RunError::from(error));
    let sandbox = Sandbox::spawn(spec).map_err(failed)?;
    cancel.watch(sandbox.canceller());
    let mut heard = ProgramOutput::default();
    let ended = sandbox.wait(&mut heard).map_err(failed)?;
    if ended.exit == ExitReason::Exited(0) {
        return Ok(printed(&heard.output));
    }
    let ending = RunEnding::of(ended.exit, time, &[]);
    let message = ending.error.unwrap_or_else(|| "the program failed".to_owned());
    let said = heard.errors.finish().text;
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last: String = last.chars().take(MAX_SAID).collect();
    let failure = match ending.outcome {
        RunOutcome::Failed if !last.is_empty() => {
            Failure::new(format!("the program failed: {last}"))
        }
        _ => Failure::new(message),
    };
    Err(match ending.outcome {
        RunOutcome::OutOfMemory => {
            failure.advice("increase `memoryLimitMb`, which may be at most 512")
        }
        RunOutcome::TimedOut => {
            failure.advice("increase `timeoutSeconds`, which may be at most 30")
        }
        _ => failure,
    })
}

/// The output of a program. The sandbox limits it.
#[derive(Default)]
struct ProgramOutput {
    output: Vec<u8>,
    errors: Capture,
}

impl Observer for ProgramOutput {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Output => self.output.extend_from_slice(bytes),
            OutputStream::Error => self.errors.push(bytes),
        }
    }
}

fn is_variable(name: &str, value: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
        && !value.contains('\0')
}
