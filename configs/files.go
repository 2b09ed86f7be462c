package configs

import (
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/settings"
)

// workspaceDir resolves the team's workspace, and keeps it for resolving programs if it can
// be used.
func (r *resolver) workspaceDir(v yaml.Value[string]) string {
	if !v.Given() {
		// A mistake about a folder that the spec does not name has no position of its own.
		v = yaml.Value[string]{V: ".", At: r.Root}
	}
	dir, usable := r.Folder(v, "workspace")
	if usable {
		r.Workspace = dir
		if err := r.writable(dir); err != nil {
			r.Fail(v.At.At, "the workspace %s cannot be written to (%s); change its permissions, "+
				"or name another folder", yaml.Quote(v.V), notation.Cause(err))
		}
	}
	return dir
}

// reportRefused reports warnings that keep a file of hooks from being used.
func (r *resolver) reportRefused(v yaml.Value[string], warnings []error) {
	for _, err := range settings.Refused(warnings) {
		r.Fail(v.At.At, "%v", err)
	}
}

// trimPackage returns an error's text without the prefix of package hooks.
func trimPackage(err error) string {
	return strings.TrimPrefix(err.Error(), "hooks: ")
}
