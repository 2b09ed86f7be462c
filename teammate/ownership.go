package teammate

import (
	"path/filepath"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// ownershipRefusal returns what forbids a call to write its files (Options.Writable): the first
// refusal that nobody can override, or else the first. It checks each path as the kernel
// resolves it, and also as a tool resolves it that cleans the path before links.
func (p permitter) ownershipRefusal(tl *permission.Tool, call agent.ToolCall) (refusal string, ask bool) {
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
