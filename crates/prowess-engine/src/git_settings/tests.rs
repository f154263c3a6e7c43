use super::*;

/// The settings of a text, one per line; dangerous ones are marked.
fn read(text: &str) -> String {
    let Ok(settings) = parse(text.as_bytes()) else { return "unreadable".to_owned() };
    let line = |setting: &Setting| {
        let mark = if setting.is_harmless() { ' ' } else { '!' };
        format!("{mark}{}={:?}", setting.key(), setting.value)
    };
    settings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn texts_are_read_as_git_reads_them() {
    for (text, expected) in [
        ("[core]\n\tbare = false\n", " core.bare=\"false\""),
        ("[core] bare\n", " core.bare=\"true\""),
        ("[core]bare=false # no\n; no\n", " core.bare=\"false\""),
        ("\u{feff}[CORE]\r\nFileMode = true\r\n", " core.filemode=\"true\""),
        ("[remote \"a\\\"b\"]\nurl = x\n", " remote.a\"b.url=\"x\""),
        ("[branch.Main]\nremote = origin\n", " branch.main.remote=\"origin\""),
        ("[user]\nname = a \" b ; \" c  \n", " user.name=\"a  b ;  c\""),
        ("[user]\nname = a\\\nb\n", " user.name=\"ab\""),
        ("[core]\nfsmonitor = \"touch x; false\"\n", "!core.fsmonitor=\"touch x; false\""),
        ("[core]\nfsmonitor = true\n", " core.fsmonitor=\"true\""),
        ("# [core]\n[user]\n# name = x\nemail = y", " user.email=\"y\""),
        ("", ""),
        // Text that git rejects, and text that only looks like a setting.
        ("bare = false\n", "unreadable"),
        ("[core\nbare = false\n", "unreadable"),
        ("[core]\nbare : false\n", "unreadable"),
        ("[core]\nbare = \"false\n", "unreadable"),
        ("[core]\nbare = \\x\n", "unreadable"),
        ("[core \"x]\nbare = 1\n", "unreadable"),
        ("\u{c}[core]\nbare = 1\n", "unreadable"),
        // A form feed is not whitespace for git, so this is the name of a program.
        ("[core]\nfsmonitor = \u{c}true\n", "!core.fsmonitor=\"\\u{c}true\""),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn only_known_settings_are_harmless() {
    let clone = "[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\nlogallrefupdates = true\n[remote \"origin\"]\nurl = https://example.com/x.git\nfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n";
    assert!(!read(clone).contains('!'), "{}", read(clone));
    for dangerous in [
        "[core]\nhooksPath = x",
        "[core]\nsshCommand = x",
        "[core]\nfsmonitor = x",
        "[core]\npager = x",
        "[core]\nworktree = ..",
        "[core \"x\"]\nbare = x",
        "[include]\npath = x",
        "[includeIf \"gitdir:x\"]\npath = x",
        "[alias]\nstatus = !id",
        "[filter \"x\"]\nclean = id",
        "[diff]\nexternal = id",
        "[diff \"x\"]\ntextconv = id",
        "[credential]\nhelper = !id",
        "[remote \"x\"]\nurl = ext::sh -c id",
        "[remote \"x\"]\nuploadpack = id",
        "[remote \"x\"]\nvcs = id",
        "[submodule \"x\"]\nupdate = !id",
        "[submodule \"x\"]\nurl = ext::sh -c id",
        "[extensions]\nworktreeConfig = true",
        "[url \"ext::sh -c id\"]\ninsteadOf = https://",
        "[gpg]\nprogram = id",
        "[gpg \"ssh\"]\ndefaultKeyCommand = id",
        "[gc]\nrecentObjectsHook = id",
        "[gc]\nnew = id",
        "[pack]\nnew = id",
        "[index]\nnew = id",
        "[status]\nnew = id",
        "[feature]\nnew = id",
        "[branch \"main\"]\nremote = ext::sh -c id",
        "[branch \"main\"]\npushRemote = --receive-pack=id",
        "[extensions]\npartialClone = ext::sh -c id",
        "[core]\neditor = x",
        "[core]\naskPass = x",
        "[core]\ngitProxy = x",
        "[core]\nalternateRefsCommand = x",
        "[core]\nattributesFile = x",
        "[sequence]\neditor = x",
        "[merge \"x\"]\ndriver = id",
        "[mergetool \"x\"]\ncmd = id",
        "[difftool \"x\"]\ncmd = id",
        "[pager]\nlog = id",
        "[uploadpack]\npackObjectsHook = id",
        "[interactive]\ndiffFilter = id",
        "[trailer \"x\"]\ncmd = id",
        "[hook \"x\"]\ncommand = id",
        "[sendemail]\nsmtpServer = id",
        "[imap]\ntunnel = id",
        "[web]\nbrowser = x",
        "[browser \"x\"]\ncmd = id",
        "[guitool \"x\"]\ncmd = id",
        "[tar \"x\"]\ncommand = id",
        "[protocol \"ext\"]\nallow = always",
        "[init]\ntemplateDir = x",
        "[fetch]\nbundleURI = x",
        "[maintenance]\nstrategy = x",
        "[http]\nproxy = x",
        "[something]\nnew = x",
    ] {
        assert!(read(dangerous).starts_with('!'), "{dangerous}: {}", read(dangerous));
    }
}

#[test]
fn named_places_are_found_over_includes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let top = folder.path();
    let write = |name: &str, text: &str| std::fs::write(top.join(name), text).expect("it is ours");
    write(
        "config",
        "[core]\nhooksPath = .githooks\nfsmonitor = tools/watch.sh -v\n[include]\npath = a.cfg\n[includeIf \"gitdir:x\"]\npath = ~/b.cfg\n[user]\nname = ./x\n",
    );
    write("a.cfg", "[diff]\nexternal = \"sh ./d.sh\"\n[include]\npath = a.cfg\n");
    let (files, work) = ([top.join("config")], top.join("work"));
    let sources = Sources { files: &files, top: &work, home: Path::new("/home/x") };
    let found = named(sources, |file| of_file(file).expect("it can be read"));
    let shown: Vec<String> = found
        .iter()
        .map(|named| {
            let path = named.path.strip_prefix(top).unwrap_or(&named.path).display();
            format!("{path}{}", if named.is_certain { "" } else { "?" })
        })
        .collect();
    let expected = [
        "work/.githooks",
        "work/tools/watch.sh",
        "work/-v?",
        "a.cfg",
        "/home/x/b.cfg",
        "work/sh?",
        "work/d.sh?",
        "a.cfg",
    ];
    assert_eq!(shown, expected);
}
