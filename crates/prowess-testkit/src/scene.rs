//! A temporary folder in which a program runs, for tests that check its whole output and the files it leaves.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder and the program that runs in it.
pub struct Scene {
    folder: TempDir,
    program: PathBuf,
    current: PathBuf,
    variables: Vec<(String, String)>,
}

/// Environment variables that would change the program's output: folders, models, keys, proxies.
const AMBIENT: [&str; 20] = [
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "PROWESS_MODEL",
    "PROWESS_SKILL_SET",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
    "LLAMA_API_KEY",
    "LEMONADE_API_KEY",
    "VLLM_API_KEY",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// How a program on a terminal ended by a signal.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Whether the terminal echoed input at the prompt.
    pub shows_at_question: bool,
    /// Whether it echoed input after the program had ended.
    pub shows_afterwards: bool,
    /// The signal that terminated the program.
    pub signal: Option<i32>,
}

impl Scene {
    /// Creates an empty folder. A test of a binary passes `env!("CARGO_BIN_EXE_…")`.
    pub fn new(program: &str) -> Self {
        let folder = TempDir::with_prefix("scene").expect("a temporary folder can be made");
        Self {
            program: PathBuf::from(program),
            current: PathBuf::new(),
            variables: Vec::new(),
            folder,
        }
    }

    /// Uses a folder as the home directory, so that the real one is neither read nor written.
    #[must_use]
    pub fn home(mut self, folder: &str) -> Self {
        let home = self.path().join(folder);
        std::fs::create_dir_all(&home).expect("a folder of the scene can be made");
        self.variables.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the program in a folder of the scene instead of its root.
    #[must_use]
    pub fn inside(mut self, folder: &str) -> Self {
        self.current = PathBuf::from(folder);
        self
    }

    /// Writes an executable file.
    #[cfg(unix)]
    #[must_use]
    pub fn script(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let scene = self.file(path, content);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scene.path().join(path), mode).expect("it is ours");
        scene
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and the folders above it.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let full = self.path().join(path);
        std::fs::create_dir_all(full.parent().expect("a file has a folder"))
            .and_then(|()| std::fs::write(&full, content))
            .unwrap_or_else(|error| panic!("{}: {error}", full.display()));
        self
    }

    /// Copies a file or folder of the repository.
    #[must_use]
    pub fn copy(self, from: &str, to: &str) -> Self {
        let source = crate::repository().join(from);
        if source.is_file() {
            let bytes = crate::bytes(&source);
            return self.file(to, bytes);
        }
        crate::files_below(&source, &|_| true).iter().fold(self, |scene, file| {
            let relative = file.strip_prefix(&source).expect("the file is below the folder");
            let target = Path::new(to).join(relative);
            let target = target.to_str().expect("fixtures have names in UTF-8");
            scene.file(target, crate::bytes(file))
        })
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        crate::bytes(&self.path().join(path))
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("the file is UTF-8")
    }

    /// Runs the program with arguments without spaces, and returns exit code, stdout and stderr as one text.
    pub fn run(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.transcript(&self.output(&arguments, ""))
    }

    /// Runs the program with any arguments and a text on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> String {
        self.transcript(&self.output(arguments, input))
    }

    /// The raw output of the program.
    pub fn output(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        // A program that does not read its input may close the pipe.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("the program ends")
    }

    /// The program with its arguments, ready to start in the scene.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.path().join(&self.current))
            .env_remove("CLICOLOR_FORCE")
            .env_remove("NO_COLOR");
        for name in AMBIENT {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program on a pseudoterminal with typed input, and returns the exit code and the screen.
    #[cfg(target_os = "linux")]
    pub fn run_on_terminal(&self, arguments: &[&str], typed: &str) -> String {
        self.run_on_terminal_after("", arguments, typed)
    }

    /// Runs the program on a pseudoterminal, with input that was typed before the program started.
    #[cfg(target_os = "linux")]
    pub fn run_on_terminal_after(&self, ahead: &str, arguments: &[&str], typed: &str) -> String {
        use std::io::Read as _;
        let (mut screen, terminal) = crate::terminal::open();
        screen.write_all(ahead.as_bytes()).expect("the terminal takes what is typed");
        let same = || Stdio::from(terminal.try_clone().expect("a descriptor can be copied"));
        let mut command = self.command(arguments);
        command
            .stdin(same())
            .stdout(same())
            .stderr(same())
            .env("NO_COLOR", "1")
            .env("TERM", "dumb");
        let mut child = command.spawn().expect("the program starts");
        // An open handle would keep the terminal open.
        drop(command);
        drop(terminal);
        let mut shown = Vec::new();
        let mut lines = typed.split_inclusive('\n').peekable();
        let mut byte = [0];
        // The end of a terminal is an error there, and what came before it is all there is.
        while let Ok(1) = screen.read(&mut byte) {
            shown.push(byte[0]);
            // A list to choose from is answered by a line that says so, else nothing is chosen.
            if shown.ends_with(b"Enter for none: ") {
                let chosen = lines.next_if(|line| line.starts_with("choose:"));
                let answer = chosen.map_or("\n", |line| &line["choose:".len()..]);
                screen.write_all(answer.as_bytes()).expect("the terminal takes what is typed");
            }
            // People answer when they are asked; what they type before does not count.
            let prompts: [&[u8]; 3] = [b"]o: ", b"Number: ", b"Numbers: "];
            if prompts.iter().any(|prompt| shown.ends_with(prompt))
                && let Some(line) = lines.next()
            {
                screen.write_all(line.as_bytes()).expect("the terminal takes what is typed");
            }
        }
        let status = child.wait().expect("the program ends");
        let place = self.path().to_string_lossy().into_owned();
        let shown =
            String::from_utf8_lossy(&shown).replace("\r\n", "\n").replace(&place, "[SCENE]");
        let code = status.code().map_or("signal".to_owned(), |code| code.to_string());
        format!("exit {code}\n--- terminal\n{shown}")
    }

    /// Runs the program on an echoing pseudoterminal, sends a signal at a prompt, and returns whether the terminal
    /// echoed input then and afterwards.
    #[cfg(target_os = "linux")]
    pub fn interrupted(&self, arguments: &[&str], question: &str) -> Interrupted {
        use std::io::Read as _;
        use std::os::unix::process::ExitStatusExt as _;
        let (mut screen, terminal) = crate::terminal::open();
        crate::terminal::show_what_is_typed(&terminal);
        let same = || Stdio::from(terminal.try_clone().expect("a descriptor can be copied"));
        let mut command = self.command(arguments);
        command.stdin(same()).stdout(same()).stderr(same()).env("NO_COLOR", "1");
        let mut child = command.spawn().expect("the program starts");
        let mut shown = Vec::new();
        let mut byte = [0];
        while !shown.ends_with(question.as_bytes()) {
            assert!(matches!(screen.read(&mut byte), Ok(1)), "it asks `{question}`");
            shown.push(byte[0]);
        }
        let shows_at_question = crate::terminal::shows_what_is_typed(&terminal);
        let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let id = id.expect("a process has an id");
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it is ours");
        let status = child.wait().expect("the program ends");
        let shows_afterwards = crate::terminal::shows_what_is_typed(&terminal);
        Interrupted { shows_at_question, shows_afterwards, signal: status.signal() }
    }

    /// The standard output only.
    pub fn stdout(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        String::from_utf8(self.output(&arguments, "").stdout).expect("standard output is UTF-8")
    }

    fn transcript(&self, output: &Output) -> String {
        let place = self.path().to_string_lossy().into_owned();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&place, "[SCENE]");
        let code = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        let mut transcript = format!("exit {code}\n");
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                let _ = write!(transcript, "--- {name}\n{}", text(bytes));
                if !transcript.ends_with('\n') {
                    transcript.push_str("<no line break>\n");
                }
            }
        }
        transcript
    }

    /// Every file of the folder with its size, sorted.
    pub fn files(&self) -> String {
        crate::files_below(self.path(), &|_| true).iter().fold(String::new(), |mut list, file| {
            let relative = file.strip_prefix(self.path()).expect("the file is below the folder");
            let _ = writeln!(list, "{}", relative.display());
            list
        })
    }
}
