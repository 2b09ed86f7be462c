package permission

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// Rights are a member's permissions in this session: its Policy, and folders outside of its
// workspace that it may use. A PermissionRequest hook changes them for the rest of the session,
// as a person's answer would. They are safe for concurrent use; their lists are replaced and
// never modified.
type Rights struct {
	mu      sync.Mutex
	p       Policy
	folders []string // absolute and clean
}

// NewRights returns the rights at the start of a session. The folders are absolute.
func NewRights(p Policy, folders []string) *Rights {
	return &Rights{p: p, folders: slices.Clone(folders)}
}

// Now returns the current policy.
func (r *Rights) Now() Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

// SetMode changes the mode of this session from the next decision on. It fails for an unknown
// mode.
func (r *Rights) SetMode(mode string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.setMode(mode)
}

func (r *Rights) setMode(mode string) error {
	p := r.p
	p.Mode = mode
	if err := p.Check(); err != nil {
		return err
	}
	r.p = p
	return nil
}

// Folders returns the folders outside of the workspace.
func (r *Rights) Folders() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.folders
}

// ErrNotKept means that a change applies only to this session.
var ErrNotKept = errors.New("it applies only to this session: covey writes no settings files")

// Change applies one update. added holds the folders that are new. The error says why the
// update was not applied, or is ErrNotKept.
func (r *Rights) Change(u hooks.PermissionUpdate) (added []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch u.Type {
	case "addRules", "replaceRules", "removeRules":
		err = r.changeRules(u)
	case "setMode":
		if r.p.Modes != nil && !slices.Contains(r.p.Modes, u.Mode) {
			err = fmt.Errorf("a policy does not allow the mode %s", u.Mode)
		} else {
			err = r.setMode(u.Mode)
		}
	case "addDirectories", "removeDirectories":
		added, err = r.changeFolders(u)
	default:
		err = fmt.Errorf("type %q is none that covey knows", u.Type)
	}
	if err == nil && u.Destination != "session" {
		err = ErrNotKept
	}
	return added, err
}

// changeRules changes the list of rules that u names. Those that are held stay.
func (r *Rights) changeRules(u hooks.PermissionUpdate) error {
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
		held := slices.DeleteFunc(slices.Clone(*list), func(old rules.Rule) bool { return !hasRule(r.p.Held, old) })
		*list = append(held, changed...)
	default:
		*list = slices.DeleteFunc(slices.Clone(*list), func(old rules.Rule) bool {
			return hasRule(changed, old) && !hasRule(r.p.Held, old)
		})
	}
	return nil
}

// changeFolders adds or removes folders.
func (r *Rights) changeFolders(u hooks.PermissionUpdate) (added []string, err error) {
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

// Suggestions returns permission updates that would avoid the question about a call next time.
// inside says that the call stays in the workspace. If a rule or a hook asks there are none, as in
// recorded hosts.
func (r Ruling) Suggestions(t *Tool, call agent.ToolCall, inside bool) []hooks.PermissionUpdate {
	if r.By != "mode" {
		return nil
	}
	if t.Spec.Edits && inside {
		return []hooks.PermissionUpdate{{Type: "setMode", Mode: ModeEdits, Destination: "session"}}
	}
	return []hooks.PermissionUpdate{{
		Type: "addRules", Rules: []hooks.PermissionRule{RuleFor(call)}, Behavior: string(Allow), Destination: "session",
	}}
}

// Reconfigure replaces the configured rules, was, by now, from the next decision on. Changes made
// for the session since, for example by a PermissionRequest hook, stay, and so does the mode. It
// may be called at any time from any goroutine.
func (r *Rights) Reconfigure(was, now Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Allow = rebase(r.p.Allow, was.Allow, now.Allow)
	r.p.Ask = rebase(r.p.Ask, was.Ask, now.Ask)
	r.p.Deny = rebase(r.p.Deny, was.Deny, now.Deny)
	r.p.Held, r.p.Modes = now.Held, now.Modes
}

// rebase returns now with the rules that have adds to was, and without those that it lacks.
func rebase(have, was, now []rules.Rule) []rules.Rule {
	out := slices.DeleteFunc(slices.Clone(now), func(r rules.Rule) bool {
		return hasRule(was, r) && !hasRule(have, r)
	})
	for _, r := range have {
		if !hasRule(was, r) && !hasRule(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// hasRule reports whether a list has a rule with the same text.
func hasRule(list []rules.Rule, rule rules.Rule) bool {
	return slices.ContainsFunc(list, func(r rules.Rule) bool { return r.String() == rule.String() })
}
