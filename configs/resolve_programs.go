package configs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// Messages name the key that is too much, because that is what people remove.

// builtinAgent resolves an agent that ships with covey: it has a model, and
// nothing that belongs to programs.
func (r *resolver) builtinAgent(e *schema.Entry[agentSpec]) Agent {
	a := Agent{Name: e.Name.Text, Kind: Builtin}
	for _, key := range []string{"command", "resume", "env", "auth", "parallel", "native_hooks"} {
		if k := e.V.at.Entry(key).Key; k != nil {
			r.Fail(k.At, "%s belongs to agents that are programs; %s, or remove it", key, programHint(e, key))
			return a
		}
	}
	if e.V.model.given() {
		a.Model = r.model(&e.V.model)
	} else if e.V.at != nil && !e.V.at.Broken {
		r.Fail(e.V.at.At, "%s has no model; add `model:` with a model's name, or `use:` with a program such as %s",
			schema.NameOf(e.Name), Claude)
	}
	return a
}

// programHint is the `use` that was probably meant.
func programHint(e *schema.Entry[agentSpec], key string) string {
	switch {
	case e.V.use.Given(): // builtin, in so many words
		return "write another use, such as " + string(ACP) + " or " + string(Command)
	case isPreset(e.Name.Text):
		return "add use: " + e.Name.Text
	case key == "resume":
		return "add use: " + string(Command)
	}
	return "add use: " + string(ACP) + " or use: " + string(Command)
}

// programAgent resolves an agent that is a program of its own.
func (r *resolver) programAgent(e *schema.Entry[agentSpec]) Agent {
	s := &e.V
	a := Agent{
		Name: e.Name.Text, Kind: ACP, Auth: Login,
		Parallel: int(s.parallel.V), NativeHooks: s.nativeHooks.V,
	}
	switch use := s.use.V; {
	case isPreset(use):
		a.Preset = Preset(use)
	default:
		a.Kind = AgentKind(use)
		if !s.command.Given() && !s.at.Broken { // what is broken may have been meant for it
			r.Fail(s.at.At, "%s has no command; add `command:` with a list such as [program, argument], "+
				"or `use:` with a program that covey knows: %s", schema.NameOf(e.Name), strings.Join(presetNames(), ", "))
		}
	}
	a.Command = r.command(s.command)
	a.Resume = r.resume(&a, s.resume)
	a.Env = r.env(s.env.entries)
	r.auth(&a, s)
	if s.model.given() {
		a.Model = r.model(&s.model)
		if a.Auth == Key {
			r.Warn(s.auth.place().At, "a program that thinks with a script logs in nowhere, so auth has no effect")
		}
	}
	if a.Kind == ACP {
		r.warnPlaceholder(s.command)
	}
	return a
}

// warnPlaceholder warns of a place for the prompt in a command that never gets
// the prompt there.
func (r *resolver) warnPlaceholder(command schema.List[schema.Value[string]]) {
	for _, word := range command.Items {
		if strings.Contains(word.V, "{prompt}") {
			r.Warn(word.At.At, "{prompt} has no meaning here; only use: command puts the prompt there")
		}
	}
}

// command resolves a program and its arguments. Whether a bare name is
// installed is seen when it starts: it need not be where a spec is checked.
func (r *resolver) command(l schema.List[schema.Value[string]]) []string {
	out := schema.Arguments(l)
	if len(out) == 0 || l.Items[0].At == nil {
		return nil
	}
	program := l.Items[0]
	switch {
	case strings.TrimSpace(program.V) == "":
		if program.At.Kind == yaml.Text { // others have been refused for their kind
			r.Fail(program.At.At, "the program is empty; write its name or its path")
		}
	case strings.Contains(program.V, "{prompt}"):
		r.Fail(program.At.At, "the prompt cannot be the program; write the program before {prompt}")
	case strings.ContainsAny(program.V, `/\`):
		out[0] = r.program(program)
	case strings.ContainsAny(program.V, " \t\n"):
		r.Fail(program.At.At, "the program is %s, with blanks in its name; write each argument as an entry of its own: [%s]",
			yaml.Quote(program.V), strings.Join(strings.Fields(yaml.Clip(program.V)), ", "))
	}
	return out
}

// program resolves a program that is named by its path. Members work in the
// workspace, so that is where relative paths begin.
func (r *resolver) program(v schema.Value[string]) string {
	path := v.V
	if !filepath.IsAbs(path) {
		if r.workspace == "" {
			return path // the workspace has been refused
		}
		path = filepath.Join(r.workspace, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(v.V) && !strings.HasPrefix(v.V, "~"):
		r.Fail(v.At.At, "the program %s is not there (looked for %s); create it, or correct the path, "+
			"which starts at the workspace", yaml.Quote(v.V), path)
	case err != nil:
		r.missing(v, "program", path, err)
	case info.IsDir():
		r.Fail(v.At.At, "the program %s is a folder; name a file", yaml.Quote(v.V))
	case !info.Mode().IsRegular():
		r.Fail(v.At.At, "the program %s is not a regular file; name one that is", yaml.Quote(v.V))
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		r.Fail(v.At.At, "the program %s may not be executed; run chmod +x on it, or put its interpreter before it",
			yaml.Quote(v.V))
	}
	return path
}

// resume resolves the arguments that go on with a session.
func (r *resolver) resume(a *Agent, l schema.List[schema.Value[string]]) []string {
	switch {
	case !l.Given():
		return nil
	case a.Kind != Command:
		r.Fail(l.At.At, "resume belongs to use: command; %s agents go on with their sessions by themselves, "+
			"so remove it", a.Kind)
	case len(l.Items) > 0 && !slices.ContainsFunc(l.Items, holdsSession):
		r.Fail(l.At.At, "resume does not say which session; put {session} where its id belongs")
	}
	return schema.Arguments(l)
}

// holdsSession reports whether an argument has a place for a session's id. One
// that was refused may have had it.
func holdsSession(v schema.Value[string]) bool {
	return strings.Contains(v.V, "{session}") || v.At != nil && v.At.Kind != yaml.Text
}

// auth resolves how a program logs in.
func (r *resolver) auth(a *Agent, s *agentSpec) {
	auth := &s.auth
	switch {
	case auth.at != nil:
		a.Auth, a.KeyVar = Key, auth.key.V
		a.KeyFile = r.path(auth.file, "key file")
		if !auth.key.Given() && !auth.file.Given() && !auth.at.Broken {
			r.Fail(auth.at.At, "auth has neither key nor file; write {key: VARIABLE}, {file: PATH} or both")
			return
		}
	case auth.mode.V != "":
		a.Auth = Auth(auth.mode.V)
	}
	known := a.Preset != "" || auth.key.Given() || auth.at != nil && auth.at.Broken
	if a.Auth == Key && !known {
		r.Fail(auth.place().At, "covey does not know the variable that this program reads its key from; "+
			"write auth: {key: VARIABLE}, and add file: PATH if the key is in a file")
	}
}

// place is where the spec says how to log in.
func (a *authSpec) place() *yaml.Node { return orElse(a.at, a.mode.At) }
