package configs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Messages name the key that is too much, because that is what people remove.

// builtinAgent resolves an agent that ships with covey: it has a model, and
// nothing that belongs to programs.
func (r *resolver) builtinAgent(e *entry[agentSpec]) Agent {
	a := Agent{Name: e.name.Text, Kind: Builtin}
	for _, key := range []string{"command", "resume", "env", "auth", "parallel", "native_hooks"} {
		if k := e.v.at.Entry(key).Key; k != nil {
			r.fail(k.At, "%s belongs to agents that are programs; %s, or remove it", key, programHint(e, key))
			return a
		}
	}
	if e.v.model.given() {
		a.Model = r.model(&e.v.model)
	} else if e.v.at != nil && !e.v.at.Broken {
		r.fail(e.v.at.At, "%s has no model; add `model:` with a model's name, or `use:` with a program such as %s",
			nameOf(e.name), Claude)
	}
	return a
}

// programHint is the `use` that was probably meant.
func programHint(e *entry[agentSpec], key string) string {
	switch {
	case e.v.use.given(): // builtin, in so many words
		return "write another use, such as " + string(ACP) + " or " + string(Command)
	case isPreset(e.name.Text):
		return "add use: " + e.name.Text
	case key == "resume":
		return "add use: " + string(Command)
	}
	return "add use: " + string(ACP) + " or use: " + string(Command)
}

// programAgent resolves an agent that is a program of its own.
func (r *resolver) programAgent(e *entry[agentSpec]) Agent {
	s := &e.v
	a := Agent{
		Name: e.name.Text, Kind: ACP, Auth: Login,
		Parallel: int(s.parallel.v), NativeHooks: s.nativeHooks.v,
	}
	switch use := s.use.v; {
	case isPreset(use):
		a.Preset = Preset(use)
	default:
		a.Kind = AgentKind(use)
		if !s.command.given() && !s.at.Broken { // what is broken may have been meant for it
			r.fail(s.at.At, "%s has no command; add `command:` with a list such as [program, argument], "+
				"or `use:` with a program that covey knows: %s", nameOf(e.name), strings.Join(presetNames(), ", "))
		}
	}
	a.Command = r.command(s.command)
	a.Resume = r.resume(&a, s.resume)
	a.Env = r.env(s.env.entries)
	r.auth(&a, s)
	if s.model.given() {
		a.Model = r.model(&s.model)
		if a.Auth == Key {
			r.warn(s.auth.place().At, "a program that thinks with a script logs in nowhere, so auth has no effect")
		}
	}
	if a.Kind == ACP {
		r.warnPlaceholder(s.command)
	}
	return a
}

// warnPlaceholder warns of a place for the prompt in a command that never gets
// the prompt there.
func (r *resolver) warnPlaceholder(command list[value[string]]) {
	for _, word := range command.items {
		if strings.Contains(word.v, "{prompt}") {
			r.warn(word.at.At, "{prompt} has no meaning here; only use: command puts the prompt there")
		}
	}
}

// command resolves a program and its arguments. Whether a bare name is
// installed is seen when it starts: it need not be where a spec is checked.
func (r *resolver) command(l list[value[string]]) []string {
	out := argWords(l)
	if len(out) == 0 || l.items[0].at == nil {
		return nil
	}
	program := l.items[0]
	switch {
	case strings.TrimSpace(program.v) == "":
		if program.at.Kind == yaml.Text { // others have been refused for their kind
			r.fail(program.at.At, "the program is empty; write its name or its path")
		}
	case strings.Contains(program.v, "{prompt}"):
		r.fail(program.at.At, "the prompt cannot be the program; write the program before {prompt}")
	case strings.ContainsAny(program.v, `/\`):
		out[0] = r.program(program)
	case strings.ContainsAny(program.v, " \t\n"):
		r.fail(program.at.At, "the program is %s, with blanks in its name; write each argument as an entry of its own: [%s]",
			yaml.Quote(program.v), strings.Join(strings.Fields(yaml.Clip(program.v)), ", "))
	}
	return out
}

// program resolves a program that is named by its path. Members work in the
// workspace, so that is where relative paths begin.
func (r *resolver) program(v value[string]) string {
	path := v.v
	if !filepath.IsAbs(path) {
		if r.workspace == "" {
			return path // the workspace has been refused
		}
		path = filepath.Join(r.workspace, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(v.v) && !strings.HasPrefix(v.v, "~"):
		r.fail(v.at.At, "the program %s is not there (looked for %s); create it, or correct the path, "+
			"which starts at the workspace", yaml.Quote(v.v), path)
	case err != nil:
		r.missing(v, "program", path, err)
	case info.IsDir():
		r.fail(v.at.At, "the program %s is a folder; name a file", yaml.Quote(v.v))
	case !info.Mode().IsRegular():
		r.fail(v.at.At, "the program %s is not a regular file; name one that is", yaml.Quote(v.v))
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		r.fail(v.at.At, "the program %s may not be executed; run chmod +x on it, or put its interpreter before it",
			yaml.Quote(v.v))
	}
	return path
}

// resume resolves the arguments that go on with a session.
func (r *resolver) resume(a *Agent, l list[value[string]]) []string {
	switch {
	case !l.given():
		return nil
	case a.Kind != Command:
		r.fail(l.at.At, "resume belongs to use: command; %s agents go on with their sessions by themselves, "+
			"so remove it", a.Kind)
	case len(l.items) > 0 && !slices.ContainsFunc(l.items, holdsSession):
		r.fail(l.at.At, "resume does not say which session; put {session} where its id belongs")
	}
	return argWords(l)
}

// holdsSession reports whether an argument has a place for a session's id. One
// that was refused may have had it.
func holdsSession(v value[string]) bool {
	return strings.Contains(v.v, "{session}") || v.at != nil && v.at.Kind != yaml.Text
}

// auth resolves how a program logs in.
func (r *resolver) auth(a *Agent, s *agentSpec) {
	auth := &s.auth
	switch {
	case auth.at != nil:
		a.Auth, a.KeyVar = Key, auth.key.v
		a.KeyFile = r.path(auth.file, "key file")
		if !auth.key.given() && !auth.file.given() && !auth.at.Broken {
			r.fail(auth.at.At, "auth has neither key nor file; write {key: VARIABLE}, {file: PATH} or both")
			return
		}
	case auth.mode.v != "":
		a.Auth = Auth(auth.mode.v)
	}
	known := a.Preset != "" || auth.key.given() || auth.at != nil && auth.at.Broken
	if a.Auth == Key && !known {
		r.fail(auth.place().At, "covey does not know the variable that this program reads its key from; "+
			"write auth: {key: VARIABLE}, and add file: PATH if the key is in a file")
	}
}

// place is where the spec says how to log in.
func (a *authSpec) place() *yaml.Node { return orElse(a.at, a.mode.at) }
