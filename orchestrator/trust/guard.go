package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// digest tells what was trusted in two entries apart. When it was does not matter.
func (e trustEntry) digest() string {
	text, err := json.Marshal(e.Items)
	if err != nil {
		return "" // it never happens; no entry has it
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Guard knows which entries of trust.json count for the workspace of a team that runs:
// those that there were when it came up, and those that an operator has announced at its
// control socket since. trust.json lies where every process of this user can write, the
// members' among them; the control socket asks the kernel who calls.
type Guard struct {
	workspace string // real path
	tell      func(format string, args ...any)
	// off has every entry count: the team's state is not where its user's trust is, so whoever
	// trusts something would not find the team.
	off bool

	mu     sync.Mutex
	begun  bool
	counts map[trustKey]*countedTrust
	seen   os.FileInfo // trust.json as it was when last looked at
	fault  string      // why it could not be read, so that people are told once
}

// countedTrust is what counts for one spec.
type countedTrust struct {
	digest string // of what counts; empty: nothing does
	// leaving is what was announced to go and may still be in the file, where it does
	// not count.
	leaving string
	entry   *trustEntry // what counts, as it was last seen in the file; nil: not yet, or nothing counts
}

// NewGuard makes the guard of a team that is about to run.
func NewGuard(p state.Place, tell func(string, ...any)) *Guard {
	home, err := state.StateHome()
	return &Guard{
		workspace: p.Workspace, tell: tell, off: err != nil || home != p.Home(), counts: map[trustKey]*countedTrust{},
	}
}

// Begin has all entries count that there are. No member may run yet. What was announced
// before it stays. Of a file that cannot be read nothing counts.
func (g *Guard) Begin() {
	if g.off {
		return
	}
	all, err := readTrust()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun = true
	if err != nil {
		g.fault = err.Error()
		g.tell("%v", err)
		return
	}
	for _, e := range all.Trusted {
		if _, announced := g.counts[e.trustKey]; e.Workspace == g.workspace && !announced {
			g.counts[e.trustKey] = &countedTrust{digest: e.digest(), entry: &e}
		}
	}
}

// Announce is called for an operator who is about to change an entry; an empty digest means
// that it goes.
func (g *Guard) Announce(n api.TrustNotice) error {
	if n.Workspace != g.workspace {
		return fmt.Errorf("this team works in %s, not in %s", g.workspace, n.Workspace)
	}
	key := trustKey{Workspace: n.Workspace, Spec: n.Spec}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts[key]
	if c == nil {
		c = &countedTrust{}
		g.counts[key] = c
	}
	if c.digest != n.Digest {
		c.digest, c.leaving, c.entry = n.Digest, c.digest, nil
	}
	return nil
}

// Counts reports whether an entry counts.
func (g *Guard) Counts(n api.TrustNotice) bool {
	if g.off {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts[trustKey{Workspace: n.Workspace, Spec: n.Spec}]
	return c != nil && n.Digest != "" && c.digest == n.Digest
}

// Look compares trust.json with what counts if it has changed since the last look. An
// entry that was not announced is taken out, or the one that counts is put back, and
// people are told.
func (g *Guard) Look() {
	path, err := trustPath()
	if err != nil || g.off {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		info = nil // nothing is trusted then
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.begun || sameFile(g.seen, info) {
		return
	}
	g.seen = nil
	if info != nil {
		if err := g.compare(); err != nil {
			if g.fault != err.Error() {
				g.fault = err.Error()
				g.tell("%v", err)
			}
			return
		}
	}
	g.fault = ""
	// After a change of our own the file is another one, which the next look reads.
	g.seen = info
}

// compare brings trust.json in line with what counts; g.mu is held.
func (g *Guard) compare() error {
	all, err := readTrust()
	if err != nil {
		return err
	}
	if len(g.foreign(all)) == 0 {
		g.note(all)
		return nil
	}
	var undone []trustKey
	err = updateTrust(func(all *trustFile) {
		undone = nil
		for _, e := range g.foreign(all) {
			c := g.counts[e.trustKey]
			if c == nil || c.leaving != e.digest() { // else its operator has not come to take it away
				undone = append(undone, e.trustKey)
			}
			if c != nil && c.entry != nil {
				all.Trusted[all.index(e.trustKey)] = *c.entry
			} else {
				all.remove(e.trustKey)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("trust.json has entries that nobody has announced to this team, and they cannot be taken back: %w", err)
	}
	for _, key := range undone {
		g.tell("something has changed what is trusted for %s in trust.json without the operator; the change was undone. "+
			"Find out what it was before you trust anything; `covey trust --show` says what would run", key.Spec)
	}
	return nil
}

// foreign lists the entries for the team's workspace that must not stay; g.mu is held. What is
// about to be replaced stays until it is: what comes is not known here.
func (g *Guard) foreign(all *trustFile) []trustEntry {
	var list []trustEntry
	for _, e := range all.Trusted {
		if e.Workspace != g.workspace {
			continue
		}
		c, d := g.counts[e.trustKey], e.digest()
		if c == nil || c.digest == "" || d != c.digest && d != c.leaving {
			list = append(list, e)
		}
	}
	return list
}

// note takes in a file with nothing foreign in it; g.mu is held. Once a change that was announced
// has come, what it has replaced is as foreign as anything.
func (g *Guard) note(all *trustFile) {
	for key, c := range g.counts {
		e, there := all.find(key)
		switch {
		case there && e.digest() == c.digest:
			c.leaving, c.entry = "", &e
		case !there && c.digest == "":
			c.leaving = ""
		}
	}
}

// sameFile reports whether a file is as it was: the same one, of the same size and time.
func sameFile(was, now os.FileInfo) bool {
	if was == nil || now == nil {
		return was == nil && now == nil
	}
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}
