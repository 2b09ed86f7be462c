package teammate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
)

// Withhold reports whether a deny rule keeps a search, a call of Glob or Grep,
// from a file that it comes to.
func (p Permissions) Withhold(call rules.Call, file string) bool {
	return slices.ContainsFunc(p.Deny, func(r rules.Rule) bool { return r.ForbidsFile(call, file) })
}

// rights are what a member may do in this session: its Permissions, and the
// folders beside its workspace that it may work in. A PermissionRequest hook
// changes them for the rest of the session, as a person's answer would. They
// are safe for concurrent use; lists in them are replaced, never changed.
type rights struct {
	mu      sync.Mutex
	p       Permissions
	folders []string // absolute and clean
}

// now is what counts at this moment.
func (r *rights) now() Permissions {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

// beside are the folders beside the workspace.
func (r *rights) beside() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.folders
}

// errNotKept says that a change counts for the session alone.
var errNotKept = errors.New("it counts for this session only: covey writes no settings files")

// change makes one change. Added are folders that are new. Its error says what
// is wrong with the change, which then was not made, or errNotKept.
func (r *rights) change(u hooks.PermissionUpdate) (added []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch u.Type {
	case "addRules", "replaceRules", "removeRules":
		err = r.changeRules(u)
	case "setMode":
		p := r.p
		p.Mode = u.Mode
		if err = p.check(); err == nil {
			r.p = p
		}
	case "addDirectories", "removeDirectories":
		added, err = r.changeFolders(u)
	default:
		err = fmt.Errorf("type %q is none that covey knows", u.Type)
	}
	if err == nil && u.Destination != "session" {
		err = errNotKept
	}
	return added, err
}

// changeRules changes the list that u names.
func (r *rights) changeRules(u hooks.PermissionUpdate) error {
	lists := map[string]*[]rules.Rule{"allow": &r.p.Allow, "ask": &r.p.Ask, "deny": &r.p.Deny}
	list := lists[u.Behavior]
	if list == nil {
		return fmt.Errorf("behavior %q: write allow, ask or deny", u.Behavior)
	}
	var changed []rules.Rule
	for _, text := range u.Rules {
		rule, err := rules.Parse(text.String())
		if err != nil {
			return fmt.Errorf("permission rule %q: %w", text, err)
		}
		changed = append(changed, rule)
	}
	switch u.Type {
	case "addRules":
		*list = slices.Concat(*list, changed)
	case "replaceRules":
		*list = changed
	default:
		*list = slices.DeleteFunc(slices.Clone(*list), func(old rules.Rule) bool {
			return slices.ContainsFunc(changed, func(gone rules.Rule) bool { return gone.String() == old.String() })
		})
	}
	return nil
}

// changeFolders adds or removes folders.
func (r *rights) changeFolders(u hooks.PermissionUpdate) (added []string, err error) {
	folders := slices.Clone(r.folders)
	for _, dir := range u.Directories {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("directory %q is not absolute", dir)
		}
		dir = filepath.Clean(dir)
		i := slices.Index(folders, dir)
		switch {
		case u.Type == "removeDirectories" && i >= 0:
			folders = slices.Delete(folders, i, i+1)
		case u.Type == "addDirectories" && i < 0:
			folders, added = append(folders, dir), append(added, dir)
		}
	}
	r.folders = folders
	return added, nil
}

// Permissions are the member's rules and mode at this moment. It may be called
// at any time from any goroutine.
func (t *Teammate) Permissions() Permissions { return t.rights.now() }
