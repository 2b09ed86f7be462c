package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// MergeState describes how far finished work has come on its way into its branch.
type MergeState string

// The states of a merge. The last two are final.
const (
	MergeWaiting  MergeState = "waiting"  // for somebody to request the merge
	MergeQueued   MergeState = "queued"   // in line behind other merges
	MergeTesting  MergeState = "testing"  // its gates run on the merged state
	MergeLanding  MergeState = "landing"  // tested; the branch is about to move to Result
	MergeHeld     MergeState = "held"     // a person has to decide; Reason says why
	MergeReturned MergeState = "returned" // to its author, who has the task Fix
	MergeReady    MergeState = "ready"    // a pull request can be opened
	MergeDone     MergeState = "merged"
	MergeDropped  MergeState = "dropped" // there was nothing to merge, or it was rejected
)

// Over reports whether the state is final.
func (s MergeState) Over() bool { return s == MergeDone || s == MergeDropped }

// Busy reports whether covey works on the merge, or will without being asked.
func (s MergeState) Busy() bool {
	return s == MergeQueued || s == MergeTesting || s == MergeLanding
}

// Stands reports whether the merge goes on only when a person asks for it.
func (s MergeState) Stands() bool { return s == MergeWaiting || s == MergeHeld }

// known reports whether s is one of the states above.
func (s MergeState) known() bool {
	return slices.Contains([]MergeState{
		MergeWaiting, MergeQueued, MergeTesting, MergeLanding, MergeHeld, MergeReturned, MergeReady,
		MergeDone, MergeDropped,
	}, s)
}

// becomes reports whether a merge may go from s to next. Nothing is merged untested,
// unless its branch already contains it; so the only way into landing is testing.
//
// From landing a merge may go back to testing: the branch has moved in between, or a
// crash came first.
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

// Merge is one piece of finished work: the commits of a member's branch, and what
// became of them. The merges that are not over are the merge queue.
type Merge struct {
	ID      string     `json:"id"` // "1", "2", … in the order of proposal
	Branch  string     `json:"branch"`
	Member  string     `json:"member"` // the author
	Tasks   []string   `json:"tasks"`  // ids of the tasks that the work completes
	Title   string     `json:"title"`
	Commit  string     `json:"commit"` // the work is From..Commit
	From    string     `json:"from"`
	Into    string     `json:"into"` // a branch's short name
	State   MergeState `json:"state"`
	Reason  string     `json:"reason,omitempty"`  // why a person is needed
	Files   []string   `json:"files,omitempty"`   // the files that Reason refers to, 100 at most
	Base    string     `json:"base,omitempty"`    // where Into stood when it was last tested
	Result  string     `json:"result,omitempty"`  // the commit tested on top of Base; once merged, the one with the work
	Fix     string     `json:"fix,omitempty"`     // id of the author's task in state returned
	Round   int        `json:"round,omitempty"`   // how often the work was returned to its author
	Asked   string     `json:"asked,omitempty"`   // id of the request to a person, in state held
	Refused bool       `json:"refused,omitempty"` // a person said no to it
	Forced  bool       `json:"forced,omitempty"`  // the operator merges this commit whatever its gates would say
	By      string     `json:"by,omitempty"`      // who requested it last; empty: covey
	Version uint64     `json:"version"`           // rises with every change
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// maxMerges is the number of recent ids within which merges that are over are kept.
const maxMerges = 1000

// maxMergeFiles bounds Merge.Files, which is for people.
const maxMergeFiles = 100

// cleaned returns m with texts that may come from outside made fit for storing.
// Reason and Files hold what gates and git have printed, which members can influence;
// they are shown on terminals and to models. m's own slices are not changed.
func (m Merge) cleaned() (Merge, error) {
	for what, name := range map[string]string{
		"branch": m.Branch, "member": m.Member, "commit": m.Commit, "target": m.Into,
	} {
		if err := store.CheckName(what, name); err != nil {
			return m, err
		}
	}
	if !m.State.known() {
		return m, fmt.Errorf("%w: state %q of a merge", ErrInvalid, store.Clip(string(m.State)))
	}
	m.Title, m.Reason = store.OneLine(store.Clean(m.Title), mail.MaxSummary), store.OneLine(store.Clean(m.Reason), mail.MaxSummary*10)
	if len(m.Files) > maxMergeFiles {
		m.Files = m.Files[:maxMergeFiles]
	}
	m.Files, m.Tasks = slices.Clone(m.Files), store.Unique(m.Tasks)
	for i, f := range m.Files {
		m.Files[i] = store.OneLine(store.Clean(f), store.MaxName)
	}
	return m, nil
}

// Merges stores the finished work of a team.
type Merges struct{ db *store.DB }

// Propose adds work to be merged, in m's State: waiting or queued. If the branch has
// a merge that is not over, that merge takes over the new commit, tasks and state;
// with the same commit it does not change. Propose fails with ErrInvalid if m cannot
// be stored.
func (ms *Merges) Propose(ctx context.Context, a actors.Actor, m Merge) (Merge, error) {
	m, err := m.cleaned()
	if err == nil && m.State != MergeWaiting && m.State != MergeQueued {
		err = fmt.Errorf("%w: a merge begins as %s or %s, not as %s",
			ErrInvalid, MergeWaiting, MergeQueued, m.State)
	}
	if err != nil {
		return Merge{}, err
	}
	return submit(ctx, ms.db.Job("propose merge"), func(t *store.Tx) (Merge, error) { return m.propose(t, a) })
}

// submit makes a change that returns a value.
func submit[T any](ctx context.Context, c *store.Job, run func(*store.Tx) (T, error)) (T, error) {
	var result, none T
	err := c.Submit(ctx, func(t *store.Tx) (err error) {
		result, err = run(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// propose adds the merge or updates the open one of its branch. One branch has one
// open merge, so that work which grows while it waits is merged once. What was known
// about the old commit (verdict, base, question) is dropped with it; the round stays,
// or work could come back for ever. Old merges that are over are deleted here, where
// new ones are added; those that are not over stay, however old.
func (m Merge) propose(t *store.Tx, a actors.Actor) (Merge, error) {
	known, err := readMerges(t.Reader)
	if err != nil {
		return Merge{}, err
	}
	i := slices.IndexFunc(known, func(k Merge) bool { return k.Branch == m.Branch && !k.State.Over() })
	// Nothing has been added since, so what was decided about the work holds.
	if i >= 0 && known[i].Commit == m.Commit {
		return known[i], nil
	}
	if i >= 0 {
		next := known[i]
		next.Commit, next.Title, next.Into, next.State = m.Commit, m.Title, m.Into, m.State
		next.Tasks = store.Unique(append(slices.Clone(next.Tasks), m.Tasks...))
		next.Reason, next.Files, next.Base, next.Result, next.Fix, next.Asked = "", nil, "", "", "", ""
		next.Refused, next.Forced = false, false
		next.Round = max(next.Round, m.Round)
		return next.save(t, a), nil
	}
	number := t.Next(store.MergeCounter)
	m.ID, m.Version, m.Created = store.FormatID(number), 0, t.Now()
	for _, old := range known {
		if n, _ := store.ParseID(old.ID); old.State.Over() && n+maxMerges <= number {
			t.Delete(bucketMerges, store.NumKey(n))
			if err := setValue(t, old.TrialKey(), &valueRecord{}); err != nil {
				return Merge{}, err
			}
		}
	}
	return m.save(t, a), nil
}

// Move changes a merge to m if the stored version is m's Version; otherwise it fails
// with ErrConflict. If fix is not nil, that task for the author is created in the
// same change and its id is stored in the merge. Move fails with ErrNotFound for a
// merge that is gone and with ErrTransition for a step that is not allowed.
//
// The version makes two movers safe: the one that comes second has decided on an old state,
// and reads the merge again. m is the whole merge and not a patch, so a caller changes the
// copy that it has read.
func (ms *Merges) Move(ctx context.Context, a actors.Actor, m Merge, fix *New) (Merge, error) {
	m, err := m.cleaned()
	if err != nil {
		return Merge{}, err
	}
	c := ms.db.Job("move merge")
	var drafts []draft
	if fix != nil {
		// Covey is the author of the task, whoever has asked for the move.
		d, err := newDraft(c, "", *fix)
		if err != nil {
			return Merge{}, c.Abandon(err)
		}
		drafts = append(drafts, d)
	}
	return submit(ctx, c, func(t *store.Tx) (Merge, error) {
		if err := m.mayMove(t); err != nil {
			return Merge{}, err
		}
		next := m
		if fix != nil {
			made, err := changing(t).addAll(a, drafts)
			if err != nil {
				return Merge{}, err
			}
			next.Fix = made.Tasks[0].ID
		}
		return next.save(t, a), nil
	})
}

// mayMove checks m against the stored merge.
func (m Merge) mayMove(t *store.Tx) error {
	n, ok := store.ParseID(m.ID)
	data := t.Bucket(bucketMerges).Get(store.NumKey(n))
	if !ok || data == nil {
		return fmt.Errorf("merge %q %w", store.Clip(m.ID), ErrNotFound)
	}
	now, err := store.Decode[Merge]("merge "+m.ID, data)
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

// save writes the next version of a merge and emits an event.
func (m Merge) save(t *store.Tx, a actors.Actor) Merge {
	m.Version++
	m.Updated = t.Now()
	n, _ := store.ParseID(m.ID)
	t.Store(store.Place{Bucket: bucketMerges, Key: store.NumKey(n)}, m, nil, nil)
	t.Emit(store.Event{Member: a.Name, Merge: &m})
	return m
}

// List returns all merges that are kept, oldest first.
func (ms *Merges) List(ctx context.Context) ([]Merge, error) {
	return store.View(ctx, ms.db, "merges", readMerges)
}

// readMerges reads all of them.
func readMerges(r store.Reader) ([]Merge, error) {
	return store.Records[Merge](r, bucketMerges, "merge %x", nil)
}

// checkMerges decodes the merges. A branch must not have two open merges: both would
// be merged.
func checkMerges(c *store.Checker) {
	open := map[string]string{}
	last := c.Count(store.MergeCounter)
	store.CheckAll(c, bucketMerges, "merge %x", func(k []byte, m *Merge) {
		switch {
		case len(k) != 8 || m.ID != store.FormatID(store.LastNum(k)) || store.LastNum(k) > last:
			c.Fault("key %x of %d holds merge %q", k, last, m.ID)
		case !m.State.known() || m.Version == 0:
			c.Fault("merge %s has state %q and version %d", m.ID, m.State, m.Version)
		case m.State == MergeLanding && (m.Result == "" || m.Base == ""):
			c.Fault("merge %s is landing and does not say what", m.ID)
		}
		if other := open[m.Branch]; other != "" && !m.State.Over() {
			c.Fault("merges %s and %s are both about branch %s", other, m.ID, m.Branch)
		}
		if !m.State.Over() {
			open[m.Branch] = m.ID
		}
	})
}

// TrialKey is the key of the value that tells what tests have said of the merge's work. It goes with the merge.
func (m Merge) TrialKey() string { return "tests of merge " + m.ID }

// Subject returns the subject under which verdicts about the merge's work are kept
// (VerdictKey): its task's id, or its branch.
func (m Merge) Subject() string {
	if len(m.Tasks) == 1 {
		return m.Tasks[0]
	}
	return m.Branch
}

// Name returns a name for the merge's work: "task 3 (Add it)", or the title of work
// that belongs to no task.
func (m Merge) Name() string {
	if len(m.Tasks) == 0 {
		return m.Title
	}
	return Named(m.Tasks...) + " (" + m.Title + ")"
}

// Authored returns the name of the merge's work with its author: "task 3 (Add it) of ana", or
// "work of ana".
func (m Merge) Authored() string {
	if len(m.Tasks) == 0 {
		return m.Title
	}
	return m.Name() + " of " + m.Member
}

// Named formats ids of tasks for a sentence: "task 3", "tasks 3, 4 and 7". It writes
// no "#" before an id, because a commit or a pull request would link it to an issue
// of the repository.
func Named(ids ...string) string {
	switch last := len(ids) - 1; {
	case last < 0:
		return "no task"
	case last > 0:
		return "tasks " + strings.Join(ids[:last], ", ") + " and " + ids[last]
	}
	return "task " + ids[0]
}
