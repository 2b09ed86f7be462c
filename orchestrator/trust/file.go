package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// trustFormat is the format of trust.json that we write.
const trustFormat = 1

// trustFile is what this user trusts, in trust.json of the state home, which is outside
// of workspaces. It is meaningless on other machines.
type trustFile struct {
	Format  int          `json:"format"`
	Trusted []trustEntry `json:"trusted"`
	// Policies are the highest versions of policies that teams have run with, by where they are.
	Policies map[string]int `json:"policies,omitempty"`
}

// CheckPolicies returns an error if a policy that the spec extends is older than one that a team of this user has
// run with.
func CheckPolicies(team *configs.Team) error {
	if len(team.Policies) == 0 {
		return nil
	}
	all, err := readTrust()
	if err != nil {
		return err
	}
	for _, p := range team.Policies {
		if newest := all.Policies[p.Where]; p.Version < newest && !p.Managed {
			return texts.Errorf(configs.ErrSpec, "extends: version %d of the policy %s is older than version %d, which was in use here; "+
				"name the digest of that one, or of a later one", p.Version, p.Where, newest)
		}
	}
	return nil
}

// KeepPolicies records the versions of a team's policies for CheckPolicies.
func KeepPolicies(team *configs.Team) error {
	all, err := readTrust()
	if err != nil || !slices.ContainsFunc(team.Policies, func(p configs.Policy) bool { return !p.Managed && p.Version > all.Policies[p.Where] }) {
		return err
	}
	return updateTrust(func(all *trustFile) {
		for _, p := range team.Policies {
			if !p.Managed && p.Version > all.Policies[p.Where] {
				if all.Policies == nil {
					all.Policies = map[string]int{}
				}
				all.Policies[p.Where] = p.Version
			}
		}
	})
}

// trustEntry is what was trusted for one spec.
type trustEntry struct {
	trustKey
	Since time.Time `json:"since"`
	Items []Item    `json:"items"`
}

// index returns the index of an entry; -1: there is none.
func (f *trustFile) index(key trustKey) int {
	return slices.IndexFunc(f.Trusted, func(e trustEntry) bool { return e.trustKey == key })
}

// find returns what was trusted under a key.
func (f *trustFile) find(key trustKey) (trustEntry, bool) {
	if i := f.index(key); i >= 0 {
		return f.Trusted[i], true
	}
	return trustEntry{}, false
}

// remove removes a key, if it exists.
func (f *trustFile) remove(key trustKey) {
	if i := f.index(key); i >= 0 {
		f.Trusted = slices.Delete(f.Trusted, i, i+1)
	}
}

// put replaces what was trusted under a key: only the last content counts.
func (f *trustFile) put(key trustKey, items []Item) {
	f.remove(key)
	f.Trusted = append(f.Trusted, trustEntry{trustKey: key, Since: time.Now(), Items: items})
}

// trustPath returns a path outside of every workspace.
func trustPath() (string, error) {
	home, err := state.StateHome()
	return filepath.Join(home, "trust.json"), err
}

// readTrust reads trust.json; a missing one is empty. A malformed file is an error, so
// that it never changes what is trusted.
func readTrust() (*trustFile, error) {
	path, err := trustPath()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &trustFile{Format: trustFormat}, nil
	}
	if err != nil {
		return nil, state.FolderError(err)
	}
	var format struct{ Format int }
	if err := json.Unmarshal(data, &format); err != nil {
		return nil, fmt.Errorf("%s cannot be read (remove it to start over): %w", path, err)
	}
	if format.Format > trustFormat {
		return nil, fmt.Errorf("%s: %w (format %d, this one reads up to %d)",
			path, state.ErrNewer, format.Format, trustFormat)
	}
	f := &trustFile{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s cannot be read (remove it to start over): %w", path, err)
	}
	f.Format = trustFormat
	return f, nil
}

// updateTrust changes trust.json under its lock.
func updateTrust(change func(*trustFile)) error {
	path, err := trustPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return state.FolderError(err)
	}
	lock, err := proc.OpenOwn(path+".lock", os.O_RDWR)
	if err != nil {
		return state.FolderError(err)
	}
	defer lock.Close()
	if err := state.WaitLock(lock, trustTimeout); err != nil {
		return fmt.Errorf("trust: another covey is changing %s: %w", path, err)
	}
	f, err := readTrust()
	if err != nil {
		return err
	}
	change(f)
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	if err := state.WriteAtomic(path, append(data, '\n')); err != nil {
		return state.FolderError(err)
	}
	return nil
}

// trustTimeout is how long to wait for another process that changes trust.json.
const trustTimeout = 5 * time.Second
