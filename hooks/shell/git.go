package shell

import "strings"

// isAlias reports whether a setting of git defines a subcommand.
func isAlias(key string) bool { return strings.HasPrefix(strings.ToLower(key), "alias.") }

// gitStarts handles what git starts: subcommands that a setting defines (git -c alias.p=push p,
// git config alias.p push), commands in settings (git -c core.pager=…), and those of the few
// subcommands that run some. All other words are data.
func (w *walker) gitStarts(c Command, depth int) {
	at := c.GitSubcommand()
	for i, option := range c.Words[:min(at, len(c.Words))] {
		switch word := option.Value; {
		case word == "-c" && i+1 < len(c.Words):
			w.gitSetting(c.Words[i+1])
		case strings.HasPrefix(word, "--config-env"):
			_, setting, _ := strings.Cut(Command{Words: c.Words[i:min(i+2, len(c.Words))]}.Text(), "--config-env")
			w.doubt(isAlias(setting[min(1, len(setting)):]))
		}
	}
	if at >= len(c.Words) {
		return
	}
	rest := c.Words[at+1:]
	switch c.Words[at].Value {
	case "config":
		for i, arg := range rest {
			if isAlias(arg.Value) && i+1 < len(rest) {
				w.gitAlias(rest[i+1])
			}
			w.argument(arg)
		}
	case "bisect":
		if len(rest) > 0 && rest[0].Value == "run" {
			w.startedBy(Command{Words: rest[1:]}, depth)
		}
	case "submodule", "filter-branch":
		w.guess(rest, true, depth)
	case "for-each-repo":
		for i := range rest {
			w.startedBy(Command{Words: append([]Word{static("git")}, rest[i:]...), Guessed: true}, maxStarts-1)
		}
	case "rebase", "difftool":
		w.optionScripts(starter{none: true, scripts: []string{"x", "exec", "extcmd"}}, rest)
	default:
		w.optionScripts(starter{none: true, scripts: []string{"upload-pack", "receive-pack", "open-files-in-pager"}}, rest)
	}
}

// GitSubcommand returns where the subcommand of git is among the words of its command; it may be
// beyond their end.
func (c Command) GitSubcommand() int {
	at := 1
	for at < len(c.Words) && c.Words[at].MayBeOption() {
		if _, pair := c.Words[at].OptionOf("git"); pair && strings.HasPrefix(c.Words[at].Value, "-") {
			at++
		}
		at++
	}
	return at
}

// gitSetting handles the value of -c.
func (w *walker) gitSetting(setting Word) {
	key, value, set := strings.Cut(setting.Value, "=")
	switch {
	case setting.Splits:
		w.doubt(true)
	case set && isAlias(key):
		w.gitAlias(Word{Value: value, Static: setting.Static})
	case set:
		w.argument(Word{Value: strings.TrimPrefix(value, "!"), Static: setting.Static})
	}
}

// gitAlias handles the definition of a subcommand of git.
func (w *walker) gitAlias(value Word) {
	if own, ok := strings.CutPrefix(value.Value, "!"); ok {
		value.Value = own
	} else {
		value.Value = "git " + value.Value
	}
	w.openScript(value.Value)
}

// OptionOf reports whether an option may have no value, and whether the next word may
// be its value. Both are true for unknown options.
func (w Word) OptionOf(program string) (alone, pair bool) {
	if !w.Static {
		return true, true
	}
	if w.Value == "--" || strings.HasPrefix(w.Value, "--") && strings.Contains(w.Value, "=") {
		return true, false
	}
	if program == "git" {
		switch w.Value {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env",
			"--attr-source":
			return false, true
		case "-p", "--paginate", "-P", "--no-pager", "--bare", "--no-replace-objects", "--no-lazy-fetch",
			"--no-optional-locks", "--no-advice", "--literal-pathspecs", "--glob-pathspecs",
			"--noglob-pathspecs", "--icase-pathspecs", "-v", "--version", "-h", "--help":
			return true, false
		}
	}
	return true, true
}
