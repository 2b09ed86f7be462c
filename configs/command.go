package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Messages name the key that has to be removed.

// programAgent resolves an agent that is a program.
func (r *resolver) programAgent(e *yaml.Entry[agentSpec]) Agent {
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
		if !s.command.Given() && !s.at.Broken { // a broken key may have been the command
			r.Fail(s.at.At, "%s has no command; add `command:` with a list such as [program, argument], "+
				"or `use:` with a program that covey knows: %s", yaml.NameOf(e.Name), strings.Join(presetNames(), ", "))
		}
	}
	r.place(a.Name, orElse(programAt(s.command), s.use.At))
	a.Command = r.Command(s.command)
	a.Resume = r.resume(&a, s.resume)
	a.Env = r.env(s.env)
	r.auth(&a, s)
	if s.model.given() {
		a.Model = r.model(&s.model)
		if a.Model.BaseURL != "" {
			r.Fail(s.model.place().At, "a program brings its own model, so model can only be a script here; remove it")
		}
		if a.Auth == Key {
			r.Warn(s.auth.place().At, "a program with a script model does not log in, so auth has no effect")
		}
	}
	if a.Kind == ACP {
		r.warnPlaceholder(s.command)
	}
	return a
}

// programAt returns the node of a command's program; nil: none.
func programAt(command yaml.List[yaml.Value[string]]) *yaml.Node {
	if len(command.Items) == 0 {
		return nil
	}
	return command.Items[0].At
}

// warnPlaceholder warns of {prompt} in a command that does not get the prompt as an
// argument.
func (r *resolver) warnPlaceholder(command yaml.List[yaml.Value[string]]) {
	for _, word := range command.Items {
		if strings.Contains(word.V, "{prompt}") {
			r.Warn(word.At.At, "{prompt} has no effect here; only use: command replaces it by the prompt")
		}
	}
}

// resume resolves the arguments that resume a session.
func (r *resolver) resume(a *Agent, l yaml.List[yaml.Value[string]]) []string {
	switch {
	case !l.Given():
		return nil
	case a.Kind != Command:
		r.Fail(l.At.At, "resume belongs to use: command; %s agents resume their sessions by themselves, "+
			"so remove it", a.Kind)
	case len(l.Items) > 0 && !slices.ContainsFunc(l.Items, holdsSession):
		r.Fail(l.At.At, "resume does not say which session; put {session} where its id belongs")
	}
	return yaml.Arguments(l)
}

// holdsSession reports whether an argument contains a session's id. An argument that was
// refused counts, because it may have contained one.
func holdsSession(v yaml.Value[string]) bool {
	return strings.Contains(v.V, "{session}") || v.At != nil && v.At.Kind != yaml.TextKind
}
