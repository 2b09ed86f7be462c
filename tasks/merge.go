package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MergeState says how far a piece of work is on its way into its branch.
type MergeState string

// The states of a merge. The last two are final.
const (
	MergeWaiting  MergeState = "waiting"  // until somebody asks for it
	MergeQueued   MergeState = "queued"   // its turn will come
	MergeTesting  MergeState = "testing"  // its gates are asked about the merged state
	MergeLanding  MergeState = "landing"  // tested: the branch is about to be moved to Result
	MergeHeld     MergeState = "held"     // for a person: Reason says why
	MergeReturned MergeState = "returned" // to its author, who has the task Fix
	MergeReady    MergeState = "ready"    // a pull request can be opened
	MergeDone     MergeState = "merged"
	MergeDropped  MergeState = "dropped" // there was nothing to merge, or nobody wants it
)

// Over says whether nothing more will happen.
func (s MergeState) Over() bool { return s == MergeDone || s == MergeDropped }

// Busy says whether covey is at it, or will be by itself.
func (s MergeState) Busy() bool {
	return s == MergeQueued || s == MergeTesting || s == MergeLanding
}

// known says whether there is such a state.
func (s MergeState) known() bool {
	return slices.Contains([]MergeState{
		MergeWaiting, MergeQueued, MergeTesting, MergeLanding, MergeHeld, MergeReturned, MergeReady,
		MergeDone, MergeDropped,
	}, s)
}

// becomes says whether a merge may go from s to next. Nothing is merged that was
// not tested, unless its branch is found to hold it already; so the one way into
// landing is testing.
//
// From landing a merge may go back to testing: the branch has moved under it, or a crash
// came in between.
func (s MergeState) becomes(next MergeState) bool {
	switch {
	case !next.known() || s.Over():
		return false
	case s == next, next.Over():
		return true
	case next == MergeLanding:
		return s == MergeTesting
	case next == MergeTesting:
		return s == MergeQueued || s == MergeLanding
	}
	return true
}

// Merge is one piece of finished work: the commits of a branch of a member's,
// and what has become of them. It is the queue of merges, too.
type Merge struct {
	ID      string     `json:"id"` // "1", "2", … in the order in which work came
	Branch  string     `json:"branch"`
	Member  string     `json:"member"` // the author
	Tasks   []string   `json:"tasks"`  // ids, of what the work is about
	Title   string     `json:"title"`
	Commit  string     `json:"commit"` // the work is From..Commit
	From    string     `json:"from"`
	Into    string     `json:"into"` // a branch's short name
	State   MergeState `json:"state"`
	Reason  string     `json:"reason,omitempty"` // of a state that is for people
	Files   []string   `json:"files,omitempty"`  // that Reason is about, 100 at most
	Base    string     `json:"base,omitempty"`   // where Into stood when it was last tested
	Result  string     `json:"result,omitempty"` // the commit that was tested on top of Base
	Fix     string     `json:"fix,omitempty"`    // id of the author's task in state returned
	Round   int        `json:"round,omitempty"`  // how often work of this kind has come back to the author
	Asked   string     `json:"asked,omitempty"`  // id of the request to a person in state held
	By      string     `json:"by,omitempty"`     // who last asked for it; empty: covey
	Version uint64     `json:"version"`          // rises with every change
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// maxMerges is how many numbers back merges that are over are kept.
const maxMerges = 1000

// maxMergeFiles bounds Merge.Files, which is for people.
const maxMergeFiles = 100

// cleaned is m with what may come from outside made fit for storing.
//
// Reason and Files hold what gates and git have printed, which members can word; they
// are shown on terminals and to models. m's own slices are not changed.
func (m Merge) cleaned() (Merge, error) {
	for what, name := range map[string]string{
		"branch": m.Branch, "member": m.Member, "commit": m.Commit, "target": m.Into,
	} {
		if err := checkName(what, name); err != nil {
			return m, err
		}
	}
	if !m.State.known() {
		return m, fmt.Errorf("%w: state %q of a merge", ErrInvalid, clip(string(m.State)))
	}
	m.Title, m.Reason = oneLine(clean(m.Title), maxSummary), oneLine(clean(m.Reason), maxSummary*10)
	if len(m.Files) > maxMergeFiles {
		m.Files = m.Files[:maxMergeFiles]
	}
	m.Files, m.Tasks = slices.Clone(m.Files), unique(m.Tasks)
	for i, f := range m.Files {
		m.Files[i] = oneLine(clean(f), maxName)
	}
	return m, nil
}

// ProposeMerge notes work that is to be merged, in m's State: waiting or queued.
// If the branch has a merge that is not over, that one takes over the new commit,
// tasks and state instead of a second one being made; with the same commit it
// stays as it is. It fails with ErrInvalid for what cannot be stored.
func (s *Store) ProposeMerge(ctx context.Context, a Actor, m Merge) (Merge, error) {
	m, err := m.cleaned()
	if err == nil && m.State != MergeWaiting && m.State != MergeQueued {
		err = fmt.Errorf("%w: a merge begins as %s or %s, not as %s",
			ErrInvalid, MergeWaiting, MergeQueued, m.State)
	}
	if err != nil {
		return Merge{}, err
	}
	c := &job{op: "propose merge"}
	var result Merge
	c.run = func(t *txn) error {
		var err error
		result, err = t.proposeMerge(a, m)
		return err
	}
	if err := s.submit(ctx, c); err != nil {
		return Merge{}, err
	}
	return result, nil
}

// proposeMerge finds out whether the branch is known.
//
// One branch has one open merge, so that work which grows while it waits is merged once.
// What was known about the old commit (verdict, base, question) is dropped with it; the
// round stays, or work could come back for ever. Old merges that are over are dropped by
// number here, where new ones are made; those that are not over stay, however old.
func (t *txn) proposeMerge(a Actor, m Merge) (Merge, error) {
	known, err := t.merges()
	if err != nil {
		return Merge{}, err
	}
	i := slices.IndexFunc(known, func(k Merge) bool { return k.Branch == m.Branch && !k.State.Over() })
	if i >= 0 && known[i].Commit == m.Commit {
		return known[i], nil
	}
	if i >= 0 {
		next := known[i]
		next.Commit, next.Title, next.Into, next.State = m.Commit, m.Title, m.Into, m.State
		next.Tasks = unique(append(slices.Clone(next.Tasks), m.Tasks...))
		next.Reason, next.Files, next.Base, next.Result, next.Fix, next.Asked = "", nil, "", "", "", ""
		next.Round = max(next.Round, m.Round)
		return t.saveMerge(a, next), nil
	}
	t.counts.merge++
	m.ID, m.Version, m.Created = formatID(t.counts.merge), 0, t.now
	for _, old := range known {
		if n, _ := parseID(old.ID); old.State.Over() && n+maxMerges <= t.counts.merge {
			t.del(bucketMerges, numKey(n))
		}
	}
	return t.saveMerge(a, m), nil
}

// MergeNews is what a change of a merge causes, in the same transaction.
type MergeNews struct {
	// Fix is a task for the author; its id is put into the merge. nil: none.
	Fix *New
	// Mail goes to its recipients; nil: none.
	Mail *Outgoing
}

// MoveMerge changes a merge to what m says, if it is still as m's Version has it:
// else it fails with ErrConflict. It fails with ErrNotFound for a merge that is
// gone and with ErrTransition for a step that is none.
func (s *Store) MoveMerge(ctx context.Context, a Actor, m Merge, news MergeNews) (Merge, error) {
	m, err := m.cleaned()
	if err != nil {
		return Merge{}, err
	}
	c := &job{op: "move merge"}
	send, err := s.packNews(c, a, news)
	if err != nil {
		return Merge{}, s.abandon(c, err)
	}
	var result Merge
	c.run = func(t *txn) error {
		if err := t.mayMove(m); err != nil {
			return err
		}
		next := m
		if next.Fix, err = send(t, m.Fix); err != nil {
			return err
		}
		result = t.saveMerge(a, next)
		return nil
	}
	if err := s.submit(ctx, c); err != nil {
		return Merge{}, err
	}
	return result, nil
}

// packNews prepares what a change causes. What it gives runs in the transaction,
// and gives the id of the author's task: a new one's, or the one that it is told.
func (s *Store) packNews(c *job, a Actor, news MergeNews) (func(*txn, string) (string, error), error) {
	var fix []draft
	if news.Fix != nil {
		d, err := s.draft(c, *news.Fix)
		if err != nil {
			return nil, err
		}
		fix = append(fix, d)
	}
	var mail messageRecord
	var to []string
	if news.Mail != nil {
		out := *news.Mail
		var err error
		if mail, err = s.packMessage(c, &out); err != nil {
			return nil, err
		}
		mail.From, to = a.Name, out.To
	}
	return func(t *txn, id string) (string, error) {
		if _, err := t.send(mail, to); err != nil {
			return "", err
		}
		if len(fix) == 0 {
			return id, nil
		}
		made, err := t.addAll(a, fix)
		if err != nil {
			return "", err
		}
		return made.Tasks[0].ID, nil
	}, nil
}

// mayMove compares a merge with what is stored.
func (t *txn) mayMove(m Merge) error {
	n, ok := parseID(m.ID)
	data := t.bucket(bucketMerges).Get(numKey(n))
	if !ok || data == nil {
		return fmt.Errorf("merge %q %w", clip(m.ID), ErrNotFound)
	}
	now, err := decode[Merge]("merge "+m.ID, data)
	switch {
	case err != nil:
		return err
	case now.Version != m.Version:
		return fmt.Errorf("merge %s %w: version %d, expected %d; read it again",
			m.ID, ErrConflict, now.Version, m.Version)
	case !now.State.becomes(m.State):
		return fmt.Errorf("%w: merge %s is %s, not to be set to %s", ErrTransition, m.ID, now.State, m.State)
	}
	return nil
}

// saveMerge writes the next version of a merge and tells of it.
func (t *txn) saveMerge(a Actor, m Merge) Merge {
	m.Version++
	m.Updated = t.now
	n, _ := parseID(m.ID)
	t.store(place{bucketMerges, numKey(n)}, m, nil, nil)
	t.emit(eventRecord{Member: a.Name, Merge: &m})
	return m
}

// Merges gives all merges that are kept, oldest first.
func (s *Store) Merges(ctx context.Context) ([]Merge, error) {
	var list []Merge
	err := s.view(ctx, func(r reader) error {
		var err error
		list, err = r.merges()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	return list, nil
}

// merges reads all of them.
func (r reader) merges() ([]Merge, error) {
	list := []Merge{}
	var failed error
	each(r.bucket(bucketMerges), nil, func(k, v []byte) bool {
		m, err := decode[Merge](fmt.Sprintf("merge %d", lastNum(k)), v)
		if failed = err; err == nil {
			list = append(list, *m)
		}
		return err == nil
	})
	return list, failed
}

// checkMerges decodes the merges. A branch must not have two that are not over:
// both would be merged.
func (c *checker) checkMerges() {
	open := map[string]string{}
	each(c.bucket(bucketMerges), nil, func(k, v []byte) bool {
		m, err := decode[Merge](fmt.Sprintf("merge %x", k), v)
		switch {
		case err != nil:
			c.fault("%v", err)
			return true
		case len(k) != 8 || m.ID != formatID(lastNum(k)) || lastNum(k) > c.counts.merge:
			c.fault("key %x of %d holds merge %q", k, c.counts.merge, m.ID)
		case !m.State.known() || m.Version == 0:
			c.fault("merge %s has state %q and version %d", m.ID, m.State, m.Version)
		case m.State == MergeLanding && (m.Result == "" || m.Base == ""):
			c.fault("merge %s is landing and does not say what", m.ID)
		}
		if other := open[m.Branch]; other != "" && !m.State.Over() {
			c.fault("merges %s and %s are both about branch %s", other, m.ID, m.Branch)
		}
		if !m.State.Over() {
			open[m.Branch] = m.ID
		}
		return true
	})
}

// Subject is what verdicts about the merge's work are kept under (VerdictKey): its
// task's id, or its branch.
func (m Merge) Subject() string {
	if len(m.Tasks) == 1 {
		return m.Tasks[0]
	}
	return m.Branch
}

// Name is what the merge's work is called: "task 3 (Add it)", or the title of work that
// belongs to no task.
func (m Merge) Name() string {
	if len(m.Tasks) == 0 {
		return m.Title
	}
	return Named(m.Tasks...) + " (" + m.Title + ")"
}

// Named writes tasks in a sentence: "task 3", "tasks 3, 4 and 7". No "#" stands before an
// id, because a commit or a pull request would link it to an issue of the repository.
func Named(ids ...string) string {
	switch last := len(ids) - 1; {
	case last < 0:
		return "no task"
	case last > 0:
		return "tasks " + strings.Join(ids[:last], ", ") + " and " + ids[last]
	}
	return "task " + ids[0]
}
