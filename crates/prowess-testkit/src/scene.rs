//! A temporary folder in which a program runs, for tests that look at everything it says and leaves behind.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder and the program that is run in it.
pub struct Scene {
    folder: TempDir,
    program: PathBuf,
}

impl Scene {
    /// An empty folder. A test of a binary hands in `env!("CARGO_BIN_EXE_…")`.
    pub fn new(program: &str) -> Self {
        let folder = TempDir::with_prefix("scene").expect("a temporary folder can be made");
        Self { folder, program: PathBuf::from(program) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, folders included.
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

    /// Runs the program with arguments that hold no blanks, and gives exit code, stdout and stderr as one text.
    pub fn run(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.transcript(&self.output(&arguments, ""))
    }

    /// The same with any arguments, and a text on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> String {
        self.transcript(&self.output(arguments, input))
    }

    /// What the program gives, byte for byte.
    pub fn output(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.path())
            .env_remove("CLICOLOR_FORCE")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        // A program that does not read its input closes the pipe, which is its right.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("the program ends")
    }

    /// Standard output alone.
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
