//! What is scanned: the files of a skill, in memory.

/// A file of a skill.
#[derive(Clone, Copy, Debug)]
pub struct ScanFile<'f> {
    /// Its path below the skill's folder, with `/` between the parts.
    pub path: &'f str,
    /// Its content; of a link, what it points to.
    pub bytes: &'f [u8],
    /// What it is.
    pub mode: FileMode,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// A file.
    Plain,
    /// A file that is marked as executable.
    Executable,
    /// A symbolic link.
    Link,
    /// A file that the caller did not read, with the reason; its content is empty.
    Unread(&'static str),
}

/// Whether a path or an address ends with an extension, in any case of its letters.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension))
}

/// What a file holds, as far as its name and its first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Markdown,
    Shell,
    Python,
    JavaScript,
    /// Code that is only searched for phrases.
    OtherCode,
    /// JSON, YAML, TOML and their like.
    Data,
    /// Any other text.
    Text,
    /// Zip files, and what is built like them.
    Zip,
    /// Other archives.
    Archive,
    /// Programs for machines.
    Program,
    /// Code that was compiled for an interpreter.
    Bytecode,
    /// Pictures, fonts and their like.
    Media,
    /// Anything else.
    Binary,
}

/// Kinds by the end of the name.
const EXTENSIONS: &[(FileKind, &str)] = &[
    (FileKind::Markdown, "md mdx markdown mdc rst adoc"),
    (FileKind::Shell, "sh bash zsh ksh command"),
    (FileKind::Python, "py pyw pyi"),
    (FileKind::JavaScript, "js mjs cjs ts mts cts jsx tsx"),
    (
        FileKind::OtherCode,
        "ps1 psm1 psd1 bat cmd vbs vbe wsf hta rb pl pm php lua go rs c cc cpp h hpp java kt kts swift scala cs fs ex exs jl r \
         tcl awk fish applescript scpt sql mk cmake gradle groovy nix",
    ),
    (
        FileKind::Data,
        "json jsonc json5 jsonl yaml yml toml ini cfg conf plist xml env properties service desktop lock ipynb",
    ),
    (FileKind::Text, "txt csv tsv html htm svg css scss tex log j2 jinja tmpl template"),
    (FileKind::Zip, "zip docx xlsx pptx odt ods odp whl jar epub skill vsix xpi apk egg pyz"),
    (FileKind::Archive, "tar gz tgz bz2 xz zst 7z rar lzma cab iso dmg pkg msi deb rpm"),
    (FileKind::Program, "exe dll so dylib com scr"),
    (FileKind::Bytecode, "pyc pyo pyd class wasm pickle pkl"),
    (
        FileKind::Media,
        "png jpg jpeg gif webp bmp ico tiff avif mp3 mp4 wav ogg webm mov ttf otf woff woff2 eot pdf psd",
    ),
];
/// Whole names.
const NAMES: &[(FileKind, &str)] = &[
    (
        FileKind::OtherCode,
        "Dockerfile Makefile makefile GNUmakefile Justfile justfile Rakefile Gemfile Vagrantfile Jenkinsfile Containerfile",
    ),
    (FileKind::Shell, ".bashrc .zshrc .profile .bash_profile .zprofile .envrc"),
    (FileKind::Data, ".env .npmrc .pypirc .netrc"),
];
/// First bytes.
const MAGIC: &[(FileKind, &[u8])] = &[
    (FileKind::Program, b"\x7fELF"),
    (FileKind::Program, b"\xfe\xed\xfa\xce"),
    (FileKind::Program, b"\xfe\xed\xfa\xcf"),
    (FileKind::Program, b"\xce\xfa\xed\xfe"),
    (FileKind::Program, b"\xcf\xfa\xed\xfe"),
    (FileKind::Program, b"\xca\xfe\xba\xbe"),
    (FileKind::Bytecode, b"\0asm"),
    (FileKind::Zip, b"PK\x03\x04"),
    (FileKind::Archive, b"\x1f\x8b"),
    (FileKind::Archive, b"BZh"),
    (FileKind::Archive, b"\xfd7zXZ"),
    (FileKind::Archive, b"7z\xbc\xaf\x27\x1c"),
    (FileKind::Archive, b"Rar!"),
    (FileKind::Archive, b"\x28\xb5\x2f\xfd"),
];

/// First bytes of pictures, fonts, recordings and pages, at their offsets.
const MEDIA: &[(usize, &[u8])] = &[
    (0, b"\x89PNG"),
    (0, b"\xff\xd8\xff"),
    (0, b"GIF8"),
    (8, b"WEBP"),
    (8, b"WAVE"),
    (4, b"ftyp"),
    (0, b"ID3"),
    (0, b"\xff\xfb"),
    (0, b"OggS"),
    (0, b"%PDF-"),
    (0, b"wOFF"),
    (0, b"wOF2"),
    (0, b"\0\x01\0\0"),
    (0, b"OTTO"),
    (0, b"8BPS"),
    (0, b"II*\0"),
    (0, b"MM\0*"),
    (0, b"\x1a\x45\xdf\xa3"),
];

/// Whether bytes begin like a picture, a font, a recording or a page, whatever the name says.
pub(crate) fn is_media(bytes: &[u8]) -> bool {
    MEDIA.iter().any(|(at, magic)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(magic)))
}

impl FileKind {
    /// The kind of a file. What its first bytes say counts more than its name.
    pub(crate) fn of(file: &ScanFile<'_>) -> Self {
        let head = &file.bytes[..file.bytes.len().min(512)];
        if let Some((kind, _)) = MAGIC.iter().find(|(_, magic)| head.starts_with(magic)) {
            return *kind;
        }
        // `MZ` begins ordinary words too; a program has bytes after it that no text has.
        if head.starts_with(b"MZ") && head.contains(&0) {
            return Self::Program;
        }
        let name = file.path.rsplit('/').next().unwrap_or(file.path);
        let by_name = NAMES.iter().find(|(_, names)| names.split(' ').any(|known| known == name));
        let extension =
            name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        let by_extension = EXTENSIONS
            .iter()
            .find(|(_, known)| known.split_whitespace().any(|known| known == extension));
        let kind = by_name.or(by_extension).map(|(kind, _)| *kind);
        if head.starts_with(b"#!") {
            let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line);
            if line.contains("python") {
                return Self::Python;
            }
            if ["node", "deno", "bun", "tsx"].iter().any(|name| line.contains(name)) {
                return Self::JavaScript;
            }
            if line.contains("sh") && !line.contains("pwsh") {
                return Self::Shell;
            }
            return Self::OtherCode;
        }
        match kind {
            Some(kind) => kind,
            None if is_text(head) => Self::Text,
            None => Self::Binary,
        }
    }

    /// Whether it is code that something could run.
    pub(crate) fn is_code(self) -> bool {
        matches!(self, Self::Shell | Self::Python | Self::JavaScript | Self::OtherCode)
    }

    /// Whether its content is read as text.
    pub(crate) fn is_text(self) -> bool {
        self.is_code() || matches!(self, Self::Markdown | Self::Data | Self::Text)
    }
}

/// Whether bytes are text: without NUL, and mostly printable.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    if bytes.contains(&0) {
        return false;
    }
    let control = bytes.iter().filter(|byte| **byte < 9 || (14..32).contains(*byte)).count();
    control * 20 <= bytes.len()
}
