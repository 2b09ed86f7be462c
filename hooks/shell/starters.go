package shell

// starter describes where a program that starts another has the command among its words. Words of
// programs that are no starters are data, whatever they say.
type starter struct {
	short    string   // the letters of options with a value
	long     []string // the long options whose value is the next word
	scripts  []string // those letters and long options whose value is a command line for a shell
	operands int      // the words before the command: the time of timeout, the host of ssh
	assigns  bool     // NAME=value may precede the command
	appends  bool     // words that it reads are appended to the command
	shell    bool     // without a command it starts a shell
	joins    bool     // its words are a command line for a shell, if there is only one of them
	none     bool     // it has no command, only scripts

	// loose means that its options are not known: each word may begin the command, those after
	// one of subs if there are some. With lines a word may also be a command line for a shell.
	loose, lines bool
	subs         []string
}

// starterOf returns the program's entry in the table of starters. find, parallel, git, shells
// and interpreters have code of their own.
func starterOf(name string) (starter, bool) {
	switch name {
	case "env":
		return starter{short: "uCS", long: []string{"unset", "chdir", "split-string"}, assigns: true}, true
	case "sudo", "doas":
		return starter{short: "aCcDghpRrtTUu", long: []string{"user", "group", "prompt", "host", "chdir",
			"role", "type", "other-user", "chroot", "close-from", "command-timeout"}, assigns: true}, true
	case "exec":
		return starter{short: "a"}, true
	case "command", "builtin", "nohup", "setsid", "busybox", "toybox", "fakeroot", "torsocks", "unbuffer", "chronic", "ifne",
		"eatmydata", "pkexec", "ssh-agent", "noglob", "nocorrect", "linux32", "linux64", "setarch", "prlimit":
		return starter{}, true
	case "gosu", "su-exec":
		return starter{operands: 1}, true
	case "time":
		return starter{short: "fo", long: []string{"format", "output"}}, true
	case "nice":
		return starter{short: "n", long: []string{"adjustment"}}, true
	case "ionice":
		return starter{short: "cnpPu", long: []string{"class", "classdata"}}, true
	case "gtimeout", "gnice", "gxargs", "gstdbuf", "gtime", "genv": // of GNU, as macOS names them
		return starterOf(name[1:])
	case "chrt":
		return starter{short: "TPD", operands: 1}, true
	case "taskset":
		return starter{operands: 1}, true
	case "timeout":
		return starter{short: "ks", long: []string{"kill-after", "signal"}, operands: 1}, true
	case "stdbuf":
		return starter{short: "ioe", long: []string{"input", "output", "error"}}, true
	case "xargs":
		return starter{short: "aEILnPsd", long: []string{"arg-file", "delimiter", "max-args", "max-procs",
			"max-chars", "process-slot-var"}, appends: true}, true
	case "strace", "ltrace":
		return starter{short: "aAbDeEFIlnoOpPsSuUwxX"}, true
	case "unshare", "nsenter":
		return starter{short: "SGRwt", long: []string{"setuid", "setgid", "root", "wd", "target"}, shell: true}, true
	case "chroot":
		return starter{long: []string{"groups", "userspec"}, operands: 1, shell: true}, true
	}
	return lineStarterOf(name)
}

// lineStarterOf has the programs that hand a text to a shell.
func lineStarterOf(name string) (starter, bool) {
	switch name {
	case "watch":
		return starter{short: "nqs", long: []string{"interval", "equexit"}, joins: true}, true
	case "entr":
		return starter{joins: true}, true
	case "ssh":
		return starter{short: "BbcDEeFIiJLlmOoPpQRSWw", operands: 1, shell: true, joins: true}, true
	case "flock":
		return starter{short: "wEc", long: []string{"wait", "timeout", "conflict-exit-code", "command"},
			scripts: []string{"c", "command"}, operands: 1}, true
	case "script":
		return starter{short: "cOIBTmoE", long: []string{"command", "log-out", "log-in", "log-io", "log-timing"},
			scripts: []string{"c", "command"}, operands: 1}, true
	case "sg":
		return starter{short: "c", scripts: []string{"c"}, operands: 1}, true
	case "fzf":
		return starter{none: true, scripts: []string{"preview"}}, true
	case "man":
		return starter{none: true, scripts: []string{"P", "pager"}}, true
	case "fd", "fdfind":
		return starter{loose: true, subs: []string{"-x", "-X", "--exec", "--exec-batch"}}, true
	case "su", "runuser":
		return starter{short: "csgGwu", long: []string{"command", "session-command", "shell", "group", "user"},
			scripts: []string{"c", "command", "session-command"}, operands: 1, shell: true}, true
	case "tar", "gtar", "bsdtar":
		return starter{none: true, scripts: []string{"I", "F", "to-command", "checkpoint-action", "use-compress-program",
			"info-script", "new-volume-script", "rsh-command"}}, true
	case "rsync":
		return starter{none: true, scripts: []string{"e", "rsh", "rsync-path"}}, true
	case "sort":
		return starter{none: true, scripts: []string{"compress-program"}}, true
	case "tmux", "screen", "hyperfine", "nodemon", "concurrently", "xterm", "gnome-terminal", "konsole", "nix-shell":
		return starter{loose: true, lines: true}, true
	case "nix":
		return starter{loose: true, lines: true, subs: []string{"develop", "shell", "run"}}, true
	case "vagrant":
		return starter{loose: true, lines: true, subs: []string{"ssh"}}, true
	}
	return runnerOf(name)
}

// runnerOf has the programs that start a command among words that are not known here.
func runnerOf(name string) (starter, bool) {
	switch name {
	case "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc", "uv", "poetry", "pipenv", "pdm", "hatch",
		"rye", "conda", "mamba", "pipx", "direnv", "mise", "asdf", "rbenv", "pyenv", "nodenv", "devbox", "devcontainer", "bundle",
		"yarn", "bun", "dotenvx", "doppler", "op", "aws-vault", "chamber", "heroku", "foreman":
		return starter{loose: true, subs: []string{"run", "exec", "debug", "dlx", "x"}}, true
	case "npm", "pnpm": // run takes the name of a script
		return starter{loose: true, subs: []string{"exec", "dlx", "x"}}, true
	case "npx", "pnpx", "bunx", "uvx", "dotenv", "sshpass", "systemd-run", "dbus-run-session", "xvfb-run", "firejail", "bwrap",
		"proot", "setpriv", "watchexec", "reflex", "start-stop-daemon", "daemonize", "dtach", "chpst", "envdir", "softlimit",
		"tini", "dumb-init", "dbus-launch", "valgrind", "perf", "numactl", "caffeinate", "proxychains", "proxychains4", "rlwrap", "cpulimit",
		"winpty":
		return starter{loose: true}, true
	}
	return starter{}, false
}
