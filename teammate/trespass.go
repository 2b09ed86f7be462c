package teammate

import (
	"path/filepath"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// trespass says what is against the files that a call would write to
// (Options.Writable): of several the first one that nobody can allow, else the first.
// What the kernel makes of links counts, and of a path that goes up again both what
// the kernel and what a tool that cleans it first would take it for.
func (p permitter) trespass(tl *permission.Tool, call agent.ToolCall) (refusal string, ask bool) {
	writable := p.at.t.opts.Writable
	if writable == nil || !tl.Spec.Edits {
		return "", false
	}
	for _, path := range tl.Locations(call.Input, p.at.t.opts.Workdir.Dir()) {
		for _, place := range []string{workspace.Real(path), workspace.Real(filepath.Clean(path))} {
			text, may := writable(place)
			switch {
			case text == "":
			case !may:
				return text, false
			case refusal == "":
				refusal, ask = text, true
			}
		}
	}
	return refusal, ask
}
