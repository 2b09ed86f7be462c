package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

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

// trustGuard knows which entries of trust.json count for the workspace of a team that runs:
// those that there were when it came up, and those that an operator has announced at its
// control socket since. trust.json lies where every process of this user can write, the
// members' among them; the control socket asks the kernel who calls.
type trustGuard struct {
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

// newTrustGuard makes the guard of a team that is about to run.
func newTrustGuard(p state.Place, tell func(string, ...any)) *trustGuard {
	home, err := state.StateHome()
	return &trustGuard{
		workspace: p.Workspace, tell: tell, off: err != nil || home != p.Home(), counts: map[trustKey]*countedTrust{},
	}
}

// begin has all entries count that there are. No member may run yet. What was announced
// before it stays. Of a file that cannot be read nothing counts.
func (g *trustGuard) begin() {
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

// announce is called for an operator who is about to change an entry; an empty digest means
// that it goes.
func (g *trustGuard) announce(key trustKey, digest string) error {
	if key.Workspace != g.workspace {
		return fmt.Errorf("this team works in %s, not in %s", g.workspace, key.Workspace)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts[key]
	if c == nil {
		c = &countedTrust{}
		g.counts[key] = c
	}
	if c.digest != digest {
		c.digest, c.leaving, c.entry = digest, c.digest, nil
	}
	return nil
}

// counted reports whether an entry counts.
func (g *trustGuard) counted(key trustKey, digest string) bool {
	if g.off {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts[key]
	return c != nil && digest != "" && c.digest == digest
}

// look compares trust.json with what counts if it has changed since the last look. An
// entry that was not announced is taken out, or the one that counts is put back, and
// people are told.
func (g *trustGuard) look() {
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
func (g *trustGuard) compare() error {
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
func (g *trustGuard) foreign(all *trustFile) []trustEntry {
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
func (g *trustGuard) note(all *trustFile) {
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

// guardEvery is how often a team looks at trust.json and run.json.
const guardEvery = time.Second
