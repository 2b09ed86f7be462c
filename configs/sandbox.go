package configs

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Sandbox says what members may access beyond their workspace.
type Sandbox struct {
	Write []string // folders, as absolute paths, that members with a working copy of their own may write to
}

// sandboxSpec is the section `sandbox`.
type sandboxSpec struct {
	write yaml.List[yaml.Value[string]]
}

// fields returns the keys of a sandbox.
func (s *sandboxSpec) fields() []yaml.Field {
	const hint = "remove it; use permissions, or run covey in a container"
	return []yaml.Field{
		{Key: "write", Part: yaml.Texts(&s.write),
			Doc: "Folders outside of their working copies that members with one may write to with Write and Edit, such as " +
				"~/notes. Relative to the spec."},
		{Key: "level", Part: yaml.Later(hint), Doc: "How members' processes are confined."},
		{Key: "network", Part: yaml.Later(hint), Doc: "Which hosts they reach."},
		{Key: "read", Part: yaml.Later(hint), Doc: "What else they may read."},
		{Key: "deny_read", Part: yaml.Later(hint), Doc: "What they may not read."},
		{Key: "unix", Part: yaml.Later(hint), Doc: "Whether they may use unix sockets."},
		{Key: "limits", Part: yaml.Later(hint), Doc: "What they may use of the machine."},
	}
}

// sandbox resolves the section. A folder need not exist yet.
func (r *resolver) sandbox(s *sandboxSpec) Sandbox {
	var out Sandbox
	for _, dir := range s.write.Items {
		path, home := strings.CutPrefix(dir.V, "~/")
		base, err := r.Dir, error(nil)
		if home {
			base, err = os.UserHomeDir()
		}
		switch {
		case dir.V == "": // a mistake that was reported
		case strings.ContainsAny(dir.V, "*?["):
			r.Fail(dir.At.At, "%s is a pattern; name a folder, which covers all that is in it", yaml.Quote(dir.V))
		case strings.HasPrefix(path, "~"):
			r.Fail(dir.At.At, "%s is no folder; write ~/ for your home and a name, or the whole path", yaml.Quote(dir.V))
		case err != nil:
			r.Fail(dir.At.At, "the home is not known (%v); write the path out", err)
		case filepath.IsAbs(path):
			out.Write = append(out.Write, filepath.Clean(path))
		default:
			out.Write = append(out.Write, filepath.Join(base, path))
		}
	}
	return out
}
