//! Options of well-known programs that name other programs, write files, or load code.

/// Risky arguments of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct RiskyProgram {
    pub(super) names: &'static [&'static str],
    /// What such a command may do.
    pub(super) why: &'static str,
    /// Whether it is risky with any arguments.
    pub(super) always: bool,
    /// Letters of short options, in a cluster or with their value attached.
    pub(super) letters: &'static str,
    /// Long options, which may be abbreviated.
    pub(super) longs: &'static [&'static str],
    /// Whole arguments, or their part before `=`; with a star, their beginning.
    pub(super) words: &'static [&'static str],
    /// Parts of operands.
    pub(super) operands: &'static [&'static str],
    /// Whether options may have no dash, so that `--` may be the value of one.
    pub(super) undashed: bool,
    /// Whether long options may have a single dash.
    pub(super) single_dash_longs: bool,
}

const fn risky_if(names: &'static [&'static str], why: &'static str) -> RiskyProgram {
    RiskyProgram {
        names,
        why,
        always: false,
        letters: "",
        longs: &[],
        words: &[],
        operands: &[],
        undashed: false,
        single_dash_longs: false,
    }
}

const fn always_risky(names: &'static [&'static str], why: &'static str) -> RiskyProgram {
    RiskyProgram { always: true, ..risky_if(names, why) }
}

const RUNS: &str = "one of its options names a program to run";
const WRITES: &str = "one of its options writes to a file";
const LOADS: &str = "one of its options loads settings or code";
const ELSEWHERE: &str = "it runs commands elsewhere or later";
const RUNS_COMMAND: &str = "it runs another command";

/// The table.
#[rustfmt::skip]
pub(super) const PROGRAMS: &[RiskyProgram] = &[
    always_risky(&["ssh", "sshpass", "mosh", "telnet", "nc", "ncat", "netcat", "socat", "ftp", "sftp", "rsh"], ELSEWHERE),
    always_risky(&["at", "batch", "systemd-run", "screen", "tmux", "dtach", "abduco", "start-stop-daemon", "run-parts"], ELSEWHERE),
    always_risky(&["ssh-agent", "autossh", "aa-exec", "runcon", "eatmydata", "watchexec", "watchman", "nodemon", "concurrently", "cross-env", "cross-env-shell", "dotenv", "dotenvx", "env-cmd", "foreman", "overmind", "honcho", "aws-vault", "chamber", "sem", "xdg-open", "incrontab", "ansible", "ansible-console"], RUNS_COMMAND),
    always_risky(&["watch", "script", "su", "runuser", "pkexec", "flock", "unshare", "chroot", "nsenter", "capsh", "setpriv"], RUNS_COMMAND),
    always_risky(&["strace", "ltrace", "gdb", "lldb", "perf", "valgrind", "catchsegv", "rr", "heaptrack", "bpftrace"], RUNS_COMMAND),
    always_risky(&["expect", "unbuffer", "rlwrap", "entr", "xvfb-run", "dbus-run-session", "dbus-launch", "fakeroot"], RUNS_COMMAND),
    always_risky(&["bwrap", "firejail", "proot", "nsjail", "cgexec", "prlimit", "numactl", "setarch", "linux32", "linux64"], RUNS_COMMAND),
    always_risky(&["i386", "x86_64", "choom", "faketime", "torsocks", "proxychains", "proxychains4", "systemd-inhibit"], RUNS_COMMAND),
    always_risky(&["sudoedit", "visudo", "vipw", "vigr", "newgrp", "sg", "machinectl", "lxc", "incus"], RUNS_COMMAND),
    always_risky(&["ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1", "ldd", "hyperfine", "dumb-init", "tini"], RUNS_COMMAND),
    always_risky(&["chronic", "cpulimit", "gosu", "su-exec", "chpst", "envdir", "setuidgid", "softlimit", "setlock", "daemonize", "tsp", "caffeinate"], RUNS_COMMAND),
    always_risky(&["vi", "vim", "nvim", "view", "vimdiff", "ex", "ed", "red", "emacs", "nano", "pico", "joe", "mcedit"], "an editor runs commands"),
    always_risky(&["dc", "m4", "rename", "prename", "perl-rename"], "its input may run commands"),
    always_risky(&["sqlite3", "psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli"], "its language may run commands or write files"),
    always_risky(&["mail", "mailx", "mutt", "sendmail", "lynx", "w3m", "elinks", "links"], "it may run commands or send files"),
    always_risky(&["tee", "sponge"], "it writes its input to files"),
    always_risky(&["insmod", "modprobe", "mount", "umount", "kexec", "sysctl"], "it changes the system"),
    RiskyProgram { letters: "IFTgPK", longs: &["to-command", "use-compress-program", "checkpoint-action", "info-script", "new-volume-script", "rsh-command", "rmt-command", "files-from", "absolute-names", "index-file", "volno-file", "listed-incremental"], operands: &[":"], undashed: true, ..risky_if(&["tar", "gtar", "bsdtar"], RUNS) },
    RiskyProgram { longs: &["rsh-command", "rmt-command", "file", "to-stdout"], letters: "FOI", ..risky_if(&["cpio"], RUNS) },
    RiskyProgram { letters: "z", longs: &["pre", "hostname-bin", "search-zip"], ..risky_if(&["rg"], RUNS) },
    RiskyProgram { letters: "xXl", longs: &["exec", "exec-batch", "list-details"], ..risky_if(&["fd", "fdfind"], RUNS) },
    RiskyProgram { letters: "oT", longs: &["output", "compress-program", "temporary-directory"], ..risky_if(&["sort", "gsort"], RUNS) },
    RiskyProgram { longs: &["filter"], ..risky_if(&["split", "gsplit"], RUNS) },
    RiskyProgram { letters: "o", longs: &["output"], ..risky_if(&["shuf", "tree", "iconv", "column", "ctags", "strip"], WRITES) },
    RiskyProgram { longs: &["strip-program"], ..risky_if(&["install"], RUNS) },
    RiskyProgram { letters: "l", longs: &["paginate"], ..risky_if(&["diff"], RUNS) },
    RiskyProgram { letters: "o", longs: &["diff-program", "output"], ..risky_if(&["diff3", "sdiff"], RUNS) },
    RiskyProgram { longs: &["plugin"], words: &["-plugin"], ..risky_if(&["nm", "ar", "ranlib", "ld", "ld.bfd", "ld.gold", "gcc-nm", "gcc-ar"], LOADS) },
    RiskyProgram { longs: &["python", "target", "root", "prefix", "src", "log", "editor"], letters: "t", words: &["config"], ..risky_if(&["pip", "pip3"], RUNS) },
    RiskyProgram { longs: &["init-hook", "load-plugins", "rcfile", "python-executable", "config-file", "install-types"], ..risky_if(&["pylint", "mypy"], LOADS) },
    RiskyProgram { letters: "eo", longs: &["ed", "output"], ..risky_if(&["patch"], RUNS) },
    RiskyProgram { letters: "oOkKPT", longs: &["log-file", "lesskey-file", "lesskey-src", "prompt", "tag-file"], operands: &["+", "!"], ..risky_if(&["less", "more", "most", "zless", "zmore"], RUNS) },
    RiskyProgram { letters: "PHCTp", longs: &["pager", "html", "config-file", "preprocessor", "troff-device"], ..risky_if(&["man"], RUNS) },
    RiskyProgram { letters: "oSFJD", ..risky_if(&["scp"], RUNS) },
    RiskyProgram { letters: "eM", longs: &["rsh", "rsync-path", "daemon", "config", "log-file", "partial-dir", "remote-option", "write-batch", "early-input"], operands: &[":"], ..risky_if(&["rsync"], RUNS) },
    RiskyProgram { letters: "oOKTFDcdEJ", longs: &["output", "remote-name", "remote-name-all", "remote-header-name", "output-dir", "config", "upload-file", "form", "data", "data-binary", "data-ascii", "data-raw", "data-urlencode", "json", "dump-header", "cookie-jar", "trace", "trace-ascii", "stderr", "engine", "libcurl", "etag-save", "hsts", "alt-svc", "cert", "netrc-file", "url-query", "variable", "unix-socket", "abstract-unix-socket", "quote"], ..risky_if(&["curl"], "one of its options writes, sends or loads files") },
    RiskyProgram { letters: "OoaPe", longs: &["use-askpass", "config", "execute", "output-document", "output-file", "append-output", "directory-prefix", "post-file", "post-data", "body-file", "body-data", "rejected-log", "save-cookies", "warc-file", "hsts-file", "load-cookies"], ..risky_if(&["wget", "wget2"], "one of its options writes, sends or loads files") },
    RiskyProgram { letters: "TO", longs: &["unzip-command", "test", "output-file"], ..risky_if(&["zip"], RUNS) },
    RiskyProgram { operands: &["of="], ..risky_if(&["dd"], "it writes to a file") },
    RiskyProgram { words: &["-engine", "-provider", "-provider-path", "-config", "-out", "-writerand", "-keyout", "-CAserial", "engine", "req", "ca"], ..risky_if(&["openssl"], LOADS) },
    RiskyProgram { longs: &["pre-invoke", "post-invoke", "root", "admindir", "instdir", "force-script-chrootless", "log"], ..risky_if(&["dpkg"], RUNS) },
    RiskyProgram { letters: "oc", longs: &["option", "config-file"], ..risky_if(&["apt", "apt-get", "apt-cache", "aptitude"], LOADS) },
    RiskyProgram { letters: "fIE", longs: &["file", "makefile", "eval", "include-dir"], operands: &["="], ..risky_if(&["make", "gmake"], "one of its arguments names a program or another makefile") },
    RiskyProgram { letters: "CZ", longs: &["config", "open"], operands: &["+"], ..risky_if(&["cargo"], LOADS) },
    RiskyProgram { letters: "CZ", longs: &["codegen", "sysroot", "runtool", "test-runtool", "test-builder", "test-builder-wrapper"], operands: &["@", "+"], ..risky_if(&["rustc", "rustdoc"], RUNS) },
    RiskyProgram { letters: "Cc", single_dash_longs: true, longs: &["script-shell", "shell", "node-options", "node-gyp", "python", "userconfig", "globalconfig", "editor", "viewer", "browser", "git", "onload-script", "prefix", "dir", "cwd", "call", "init-module", "registry", "shell-emulator", "use-node-version", "pnpmfile", "global-pnpmfile", "config-dir", "use-yarnrc", "modules-folder", "preload", "plugin", "require"], words: &["config", "c", "set", "explore", "pkg", "set-script"], ..risky_if(&["npm", "pnpm", "yarn"], RUNS) },
    RiskyProgram { words: &["--preload", "--require", "--import", "-r*", "--config", "-c*", "--cwd", "--shell", "--env-file", "--import-map"], ..risky_if(&["bun", "deno"], LOADS) },
    RiskyProgram { words: &["--with*", "--python", "-p*", "--config-file", "--directory", "--project"], ..risky_if(&["uv"], LOADS) },
    RiskyProgram { words: &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-w", "--w", "-ldflags", "--ldflags", "-gccgoflags", "--gccgoflags", "-modfile", "--modfile"], ..risky_if(&["go"], RUNS) },
    RiskyProgram { words: &["run", "exec", "create", "compose", "stack", "service", "context", "unshare", "machine", "play", "kube", "save", "export", "-H*", "--host", "--config", "-c*", "--context", "--url", "--connection", "--runtime", "--conmon", "--hooks-dir", "cp", "plugin"], ..risky_if(&["docker", "podman", "nerdctl", "docker-compose"], "it runs commands in a container, or reaches another one") },
    RiskyProgram { words: &["exec", "run", "debug", "cp", "edit", "proxy", "config", "plugin"], longs: &["kubeconfig"], ..risky_if(&["kubectl", "oc"], "it runs commands elsewhere, or changes its settings") },
    RiskyProgram { words: &["--post-renderer", "plugin"], ..risky_if(&["helm"], RUNS) },
    RiskyProgram { words: &["alias", "extension", "extensions", "ext", "config", "api", "auth", "codespace", "cs", "--"], undashed: true, ..risky_if(&["gh"], "it runs commands of its own extensions, or anything its user may") },
    RiskyProgram { letters: "is", longs: &["inplace", "split-exp", "in-place"], ..risky_if(&["yq"], WRITES) },
    RiskyProgram { longs: &["specs", "ld-path"], words: &["-B*", "-wrapper", "-specs", "-fplugin*", "-fpass-plugin*", "-iplugindir*", "-fmodule-mapper*", "-fuse-ld", "-Xclang", "-Xlinker", "-Wl,*", "-mllvm", "-load", "-ccc*", "--config*", "--gcc-toolchain*", "--prefix"], operands: &["@"], ..risky_if(&["gcc", "g++", "cc", "c++", "clang", "clang++"], RUNS) },
    RiskyProgram { letters: "sf", longs: &["set", "file"], ..risky_if(&["date"], "it sets the clock, or reads a file") },
    RiskyProgram { letters: "o", longs: &["exec-path", "agent-program", "dirmngr-program", "pinentry-program", "photo-viewer", "options", "output", "homedir"], ..risky_if(&["gpg", "gpg2"], RUNS) },
    RiskyProgram { letters: "zwrF", ..risky_if(&["tcpdump"], RUNS) },
    RiskyProgram { words: &["exec", "-batch", "-b", "--batch", "-force", "vrf"], ..risky_if(&["ip"], RUNS) },
    RiskyProgram { longs: &["script", "interactive", "datadir", "resume"], letters: "o", ..risky_if(&["nmap"], RUNS) },
    RiskyProgram { words: &["-XX:OnError", "-XX:OnOutOfMemoryError", "-javaagent*", "-agent*", "-XX:Flags"], operands: &["@"], ..risky_if(&["java", "javac"], LOADS) },
    RiskyProgram { longs: &["config", "debugger", "cwd", "repository"], words: &["serve"], ..risky_if(&["hg"], LOADS) },
    RiskyProgram { longs: &["diff-cmd", "diff3-cmd", "editor-cmd", "config-option", "config-dir"], ..risky_if(&["svn"], RUNS) },
    RiskyProgram { longs: &["config", "config-file", "config-toml", "tool"], words: &["util", "config"], ..risky_if(&["jj"], LOADS) },
    RiskyProgram { letters: "C", longs: &["compile"], ..risky_if(&["file"], WRITES) },
    RiskyProgram { longs: &["shell", "shell-arg", "justfile", "chooser"], letters: "f", ..risky_if(&["just"], RUNS) },
    RiskyProgram { letters: "f", ..risky_if(&["ninja"], LOADS) },
    RiskyProgram { words: &["-P", "-E"], ..risky_if(&["cmake"], RUNS) },
    RiskyProgram { letters: "cop", longs: &["rootdir", "confcutdir", "pdb", "pdbcls", "override-ini", "basetemp", "junitxml", "junit-xml", "log-file"], ..risky_if(&["pytest", "py.test"], LOADS) },
    RiskyProgram { longs: &["pager", "config-file", "map-syntax"], words: &["cache"], ..risky_if(&["bat", "batcat"], RUNS) },
    RiskyProgram { letters: "b", words: &["--bind", "--preview", "--execute", "--listen"], ..risky_if(&["fzf"], RUNS) },
    RiskyProgram { letters: "DfwY", ..risky_if(&["ssh-keygen", "ssh-add", "ssh-keyscan"], "one of its options loads code, or reads or writes a file") },
    RiskyProgram { letters: "sS", ..risky_if(&["ssh-add"], LOADS) },
    RiskyProgram { longs: &["run_under", "bazelrc", "output_base", "output_user_root", "override_repository", "override_module", "workspace_status_command", "shell_executable", "host_jvm_args", "server_javabase", "python_path", "java_launcher", "credential_helper"], ..risky_if(&["bazel", "bazelisk", "buck2"], RUNS) },
    RiskyProgram { letters: "S", words: &["-SP*", "--script*", "--build-and-test", "--build-makeprogram", "--test-command", "--overwrite"], ..risky_if(&["ctest", "cpack"], RUNS) },
    RiskyProgram { words: &["-C*", "--toolchain", "-D*LAUNCHER*", "-D*COMPILER*", "-D*EXECUTABLE*", "-D*PROGRAM*", "-D*TOOLCHAIN*", "-D*INCLUDE*", "-D*LINKER*"], ..risky_if(&["cmake"], RUNS) },
    RiskyProgram { letters: "cr", longs: &["runner", "config", "globalSetup", "globalTeardown", "setupFiles", "setupFilesAfterEnv", "testEnvironment", "testRunner", "transform", "reporters", "reporter", "resolver", "rootDir", "snapshotResolver", "testSequencer", "watchPlugins", "preset", "outputFile", "require", "import", "loader", "node-option", "plugin"], ..risky_if(&["jest", "vitest", "mocha", "ava", "tap", "karma", "jasmine", "playwright", "cypress", "nyc", "c8"], LOADS) },
    RiskyProgram { letters: "cfo", longs: &["rulesdir", "rules-dir", "config", "plugin", "parser", "resolve-plugins-relative-to", "format", "formatter", "formatters-dir", "output-file", "cache-location", "cache-file", "custom-syntax", "custom-formatter"], ..risky_if(&["eslint", "stylelint", "prettier", "tslint", "xo", "textlint", "markdownlint"], LOADS) },
    RiskyProgram { words: &["-I*", "-b*", "-p*", "-g*", "-c*"], longs: &["init-script", "build-file", "project-dir", "gradle-user-home", "settings-file", "include-build", "project-cache-dir"], ..risky_if(&["gradle", "gradlew"], LOADS) },
    RiskyProgram { longs: &["file", "settings", "global-settings", "toolchains", "global-toolchains", "log-file"], words: &["-f*", "-s*", "-l*", "-t*", "-gs*", "-gt*", "-Dexec*", "-Dmaven.ext*"], operands: &["exec:", "antrun:"], ..risky_if(&["mvn", "mvnw", "mvnd"], LOADS) },
    RiskyProgram { words: &["-f*", "-buildfile", "-lib", "-logger", "-listener", "-inputhandler", "-propertyfile", "-main", "-find", "-l", "-logfile"], ..risky_if(&["ant"], LOADS) },
    RiskyProgram { longs: &["plugin", "descriptor_set_out", "dependency_out"], words: &["--*_out*", "--*_opt*", "--template*", "--config*"], operands: &["@"], ..risky_if(&["protoc", "buf"], RUNS) },
    RiskyProgram { words: &["rustc", "rustdoc"], ..risky_if(&["cargo"], RUNS) },
    RiskyProgram { letters: "cxf", longs: &["conf", "config", "override", "workdir", "installpkg", "noxfile", "setup"], ..risky_if(&["tox", "nox"], LOADS) },
    RiskyProgram { letters: "c", longs: &["config", "rcfile", "load-plugins", "plugins", "output-file", "python-executable", "config-settings"], ..risky_if(&["flake8", "ruff", "black", "isort", "bandit", "pyright", "coverage", "pre-commit", "autopep8", "yapf", "sphinx-build", "mkdocs"], LOADS) },
    RiskyProgram { letters: "eErRfI", longs: &["execute", "execute-print", "execute-continue", "require", "rakefile", "libdir", "rakelib", "system"], ..risky_if(&["rake"], RUNS) },
    RiskyProgram { letters: "rIcO", longs: &["require", "options", "config", "plugin", "format", "out", "drb"], ..risky_if(&["rspec", "rubocop", "cucumber", "jekyll"], LOADS) },
    RiskyProgram { letters: "cdzr", longs: &["bootstrap", "configuration", "prepend", "extension", "printer", "loader", "include-path", "autoload-file", "working-dir"], ..risky_if(&["phpunit", "composer", "phpstan", "psalm", "php-cs-fixer", "pest"], LOADS) },
    RiskyProgram { words: &["-t:*", "/t:*", "-p:*", "/p:*", "--property*", "-logger*", "--logger*", "-l:*", "/l:*", "--test-adapter-path*", "--settings*"], operands: &["@"], ..risky_if(&["dotnet", "msbuild"], LOADS) },
    RiskyProgram { words: &["-chdir*", "--chdir*", "-plugin-dir*", "--plugin-dir*", "-state*", "-out*"], ..risky_if(&["terraform", "tofu", "packer"], LOADS) },
    RiskyProgram { letters: "c", longs: &["config", "load", "conf"], ..risky_if(&["nginx", "haproxy", "caddy", "gunicorn", "uvicorn", "celery", "hypercorn", "puma", "uwsgi"], LOADS) },
    RiskyProgram { operands: &[":"], words: &["--rsh*", "--remote-schema*"], ..risky_if(&["rdiff-backup", "borg", "restic", "rclone", "duplicity", "unison"], ELSEWHERE) },
    RiskyProgram { words: &["-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18", "-e*", "-r*", "-pdflatex*", "-latex*", "-output-directory*", "-dNOSAFER", "-dDELAYSAFER", "-c", "--lua-filter*", "--filter*", "-F*", "-L*", "--pdf-engine*", "--extract-media*", "-protocol_whitelist", "--macro*", "macro:*"], ..risky_if(&["latex", "pdflatex", "xelatex", "lualatex", "tex", "luatex", "latexmk", "gs", "pandoc", "ffmpeg", "ffprobe", "soffice", "libreoffice"], RUNS) },
    RiskyProgram { longs: &["pager", "config", "tool", "extcmd", "diff-cmd", "override"], ..risky_if(&["delta", "difft", "tig", "hub", "glab", "colordiff"], RUNS) },
    RiskyProgram { letters: "cfE", longs: &["eval", "config", "include", "file"], operands: &["="], ..risky_if(&["bmake", "remake", "task", "earthly", "samu"], LOADS) },
    RiskyProgram { letters: "oadPic", longs: &["exec", "exec-before-download", "on-download-complete", "on-download-start", "on-download-error", "on-download-stop", "on-download-pause", "on-bt-download-complete", "save-session", "conf-path", "input-file", "dir", "out", "log", "downloader", "external-downloader", "netrc-cmd", "config-locations", "plugin-dirs", "batch-file", "output", "paths", "print-to-file", "ffmpeg-location", "pre-hook", "post-hook", "deploy-hook", "renew-hook", "manual-auth-hook"], ..risky_if(&["aria2c", "yt-dlp", "youtube-dl", "certbot", "axel", "http", "https", "xh"], RUNS) },
    RiskyProgram { letters: "c", longs: &["command"], operands: &["!"], ..risky_if(&["lftp", "gpg-connect-agent", "ncftp", "smbclient"], RUNS) },
    RiskyProgram { longs: &["to-command", "rsyncable", "decompress-program", "use-compress-program"], words: &["-p*", "-m*"], ..risky_if(&["pax", "star"], RUNS) },
    RiskyProgram { longs: &["plugin", "library", "load"], words: &["-load*", "-fplugin*", "--load*"], ..risky_if(&["opt", "llc", "clang-tidy", "clang-format", "lld"], LOADS) },
];
