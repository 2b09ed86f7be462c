package trust

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// digest identifies what was trusted in an entry, without the time.
func (e trustEntry) digest() string {
	text, err := json.Marshal(e.Items)
	if err != nil {
		return "" // it never happens; no entry has it
	}
	return texts.Digest(text)
}

// Guard knows which entries of trust.json count for the workspace of a running team:
// those that existed when it started, and those that an operator has announced at its
// control socket since. All processes of the user can write trust.json, including the
// members'; at the control socket, the kernel identifies the caller.
type Guard struct {
	workspace string // real path
	tell      func(format string, args ...any)
	// off makes every entry count: the team's state is not in the state home of its
	// user's trust, so a caller that trusts something would not find the team.
	off bool

	mu     sync.Mutex
	begun  bool
	counts map[trustKey]*countedTrust
	seen   os.FileInfo // trust.json at the last look
	fault  string      // why it could not be read, so that people are told only once
}

// countedTrust is what counts for one spec.
type countedTrust struct {
	digest string // digest of what counts; empty: nothing does
	// leaving is the digest of an entry whose removal was announced. It may still be in
	// the file, but does not count.
	leaving string
	entry   *trustEntry // what counts, as last read; nil: not read yet, or nothing counts
}

// NewGuard returns the guard of a team that is about to run.
func NewGuard(p state.Place, tell func(string, ...any)) *Guard {
	home, err := state.StateHome()
	return &Guard{
		workspace: p.Workspace, tell: tell, off: err != nil || home != p.Home(), counts: map[trustKey]*countedTrust{},
	}
}

// Begin makes all existing entries count. No member may run yet. Earlier announcements
// stay. If the file cannot be read, nothing counts.
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

// Announce records that an operator is about to change an entry; an empty digest
// announces its removal.
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

// Check compares trust.json with what counts, if it changed since the last look. It
// removes entries that were not announced, restores those that count, and tells people.
func (g *Guard) Check() {
	path, err := trustPath()
	if err != nil || g.off {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		info = nil // then nothing is trusted
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
	// A change of our own changes the file, which the next look reads.
	g.seen = info
}

// compare makes trust.json agree with what counts; g.mu is held.
func (g *Guard) compare() error {
	all, err := readTrust()
	if err != nil {
		return err
	}
	if len(g.foreign(all)) == 0 {
		g.settle(all)
		return nil
	}
	var undone []trustKey
	err = updateTrust(func(all *trustFile) {
		undone = nil
		for _, e := range g.foreign(all) {
			c := g.counts[e.trustKey]
			if c == nil || c.leaving != e.digest() { // else the announced removal is still to come
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
		return fmt.Errorf("trust.json has entries that no operator announced to this team, and removing them failed: %w", err)
	}
	for _, key := range undone {
		g.tell("a process changed what is trusted for %s in trust.json without the operator; the change was undone. "+
			"Find out which one before you trust anything; `covey trust --show` says what would run", key.Spec)
	}
	return nil
}

// foreign lists the entries for the team's workspace that must be removed; g.mu is
// held. An entry that is about to be replaced stays until then, because the new one is
// not known here.
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

// settle records a file without foreign entries; g.mu is held. Once an announced change
// has arrived, the entry that it replaced is foreign too.
func (g *Guard) settle(all *trustFile) {
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

// sameFile reports whether a file is unchanged: the same file with the same size and
// time.
func sameFile(was, now os.FileInfo) bool {
	if was == nil || now == nil {
		return was == nil && now == nil
	}
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}
