package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// New describes a task to create.
type New struct {
	Key         string // names the task in BlockedBy of the same Add; not stored
	Subject     string // required; 16 KiB at most
	Description string
	ActiveForm  string
	Owner       string   // a member's name; empty: any member may claim it
	BlockedBy   []string // ids; in Add also Keys of the list, which take precedence over ids
	Labels      []string
	Wants       Wants
	Metadata    map[string]json.RawMessage // null values are left out
}

// draft is a New after checking and packing.
type draft struct {
	key       string
	blockedBy []string
	rec       *taskRecord // without id, status and blockers
}

// Create stores a task as proposed: it has an id, but only Confirm, Discard and
// Proposed see it, and no event is emitted.
//
// Create fails with ErrInvalid if n cannot be stored, and with ErrDependency if a
// blocker does not exist.
func (s *Store) Create(ctx context.Context, a actors.Actor, n New) (Task, error) {
	c := s.db.Job("create")
	d, err := newDraft(c, a.Name, n)
	if err != nil {
		return Task{}, c.Abandon(err)
	}
	r, err := act(ctx, c, a, func(t *txn) (*receiptRecord, error) { return t.propose(d) })
	return r.task(), err
}

// Add creates and confirms several tasks in one change, with ids in the order of the
// list. Each owner except the actor gets a task assignment. The errors are those of
// Create, and ErrCycle.
func (s *Store) Add(ctx context.Context, a actors.Actor, list []New) ([]Task, error) {
	c := s.db.Job("add")
	drafts, err := newDrafts(c, a.Name, list)
	if err != nil {
		return nil, c.Abandon(err)
	}
	r, err := act(ctx, c, a, func(t *txn) (*receiptRecord, error) { return t.addAll(a, drafts) })
	return r.Tasks, err
}

// Confirm makes a proposed task pending: all members see it, and its owner gets a
// task assignment unless the actor is the owner. Blockers that were deleted in the
// meantime are dropped. Confirm fails with ErrNotFound if there is no such proposed
// task.
func (s *Store) Confirm(ctx context.Context, a actors.Actor, id string) (Task, error) {
	r, err := act(ctx, s.db.Job("confirm"), a, func(t *txn) (*receiptRecord, error) { return t.confirm(a, id) })
	return r.task(), err
}

// Discard deletes a proposed task that was refused, for the reason given. Its id is
// not used again. Discard fails with ErrNotFound as Confirm does.
func (s *Store) Discard(ctx context.Context, a actors.Actor, id, reason string) error {
	reason = store.Clean(reason)
	_, err := act(ctx, s.db.Job("discard"), a, func(t *txn) (*receiptRecord, error) {
		rec, err := t.loadFrom(bucketProposed, id)
		if err != nil {
			return nil, err
		}
		t.tx.Erase(rec.proposedPlace(), rec.Files.Blobs())
		t.emit(a, changeRecord{Op: Refused, Task: rec, Reason: reason})
		return &receiptRecord{Task: rec, Error: reason}, nil
	})
	return err
}

// newDrafts checks and packs the new tasks of an author.
func newDrafts(c *store.Job, author string, list []New) ([]draft, error) {
	drafts := make([]draft, len(list))
	for i, n := range list {
		var err error
		if drafts[i], err = newDraft(c, author, n); err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i+1, len(list), err)
		}
	}
	return drafts, nil
}

// newDraft checks and packs a new task.
//
// It runs in the caller's goroutine, before the change is submitted, so that checks and the
// writing of long texts do not hold up the committer.
func newDraft(c *store.Job, author string, n New) (draft, error) {
	rec := &taskRecord{}
	rec.normalize()
	var err error
	if rec.Subject, err = cleanSubject(n.Subject); err != nil {
		return draft{}, err
	}
	if rec.ActiveForm, err = store.CleanShort("active form", n.ActiveForm); err != nil {
		return draft{}, err
	}
	if rec.Labels, err = store.CleanList("label", n.Labels); err != nil {
		return draft{}, err
	}
	if rec.Wants, err = n.Wants.clean(); err != nil {
		return draft{}, err
	}
	if n.Owner != "" {
		if err := store.CheckName("owner", n.Owner); err != nil {
			return draft{}, err
		}
	}
	rec.Owner, rec.Author = n.Owner, author
	err = rec.pack(c, n.Description, n.Metadata)
	return draft{key: n.Key, blockedBy: slices.Clone(n.BlockedBy), rec: rec}, err
}

// pack stores the fields that may be long in the record.
func (r *taskRecord) pack(c *store.Job, description string, metadata map[string]json.RawMessage) error {
	text, err := c.Pack(description)
	if err != nil {
		return err
	}
	r.set("description", text)
	packed, err := packMetadata(c, metadata)
	if err != nil {
		return err
	}
	_, err = r.mergeMetadata(packed)
	return err
}

// cleanSubject rejects a subject that a list could not show.
func cleanSubject(subject string) (string, error) {
	if strings.TrimSpace(subject) == "" {
		return "", fmt.Errorf("%w: a task needs a subject", ErrInvalid)
	}
	return store.CleanShort("subject", subject)
}

// clean checks the names in w.
func (w Wants) clean() (Wants, error) {
	if w.Role != "" {
		if err := store.CheckName("role", w.Role); err != nil {
			return Wants{}, err
		}
	}
	clean := Wants{Role: w.Role}
	for _, list := range []struct {
		what string
		from []string
		to   *[]string
	}{{"tool", w.Tools, &clean.Tools}, {"label", w.Labels, &clean.Labels}} {
		if len(list.from) == 0 {
			continue // keep nil, so that the field is omitted
		}
		var err error
		if *list.to, err = store.CleanList(list.what, list.from); err != nil {
			return Wants{}, err
		}
	}
	return clean, nil
}

// number gives a draft its id and its first version.
func (t *txn) number(d draft, status Status) *taskRecord {
	rec := d.rec.clone()
	rec.ID = store.FormatID(t.tx.Next(store.TaskCounter))
	rec.Status = status
	rec.Version = 1
	rec.Created, rec.Updated = t.tx.Now(), t.tx.Now()
	return rec
}

// propose stores a draft as a proposed task. Its blockers are in no index yet,
// because the task may be refused.
func (t *txn) propose(d draft) (*receiptRecord, error) {
	for _, id := range d.blockedBy {
		if !t.exists(id) {
			return nil, dependencyError(id)
		}
	}
	rec := t.number(d, Proposed)
	rec.BlockedBy = store.Unique(d.blockedBy)
	t.tx.Store(rec.proposedPlace(), rec, rec.Files.Blobs(), nil)
	return &receiptRecord{Task: rec}, nil
}

// confirm moves a proposed task to the confirmed ones. This cannot close a cycle,
// because no task can depend on a task that was not visible.
func (t *txn) confirm(a actors.Actor, id string) (*receiptRecord, error) {
	rec, err := t.loadFrom(bucketProposed, id)
	if err != nil {
		return nil, err
	}
	had := rec.Files.Blobs()
	rec.BlockedBy = slices.DeleteFunc(rec.BlockedBy, func(b string) bool { return !t.exists(b) })
	rec.Status = Pending
	rec.Version++
	rec.Updated = t.tx.Now()
	t.tx.Erase(rec.proposedPlace(), had)
	t.admitTask(a, rec)
	return &receiptRecord{Task: t.withBlocks(rec)}, nil
}

// addAll checks the whole list before it writes the first task.
func (t *txn) addAll(a actors.Actor, drafts []draft) (*receiptRecord, error) {
	ids, err := t.keyIDs(drafts)
	if err != nil {
		return nil, err
	}
	recs := make([]*taskRecord, len(drafts))
	for i, d := range drafts {
		blockedBy, err := t.resolve(d.blockedBy, ids)
		if err != nil {
			return nil, fmt.Errorf("%w (wanted by %q)", err, store.Clip(d.rec.Subject))
		}
		recs[i] = t.number(d, Pending)
		recs[i].BlockedBy = blockedBy
	}
	if err := checkNewGraph(recs); err != nil {
		return nil, err
	}
	for _, rec := range recs {
		t.admitTask(a, rec)
	}
	// Later entries may be blocked by earlier ones, so Blocks are known only now.
	result := &receiptRecord{}
	for _, rec := range recs {
		result.Tasks = append(result.Tasks, *t.withBlocks(rec))
	}
	return result, nil
}

// keyIDs predicts the ids of the drafts that have keys.
//
// All drafts get their ids one after another in the same transaction, so the prediction
// holds. It is needed because an entry may be blocked by a later one.
func (t *txn) keyIDs(drafts []draft) (map[string]string, error) {
	ids := make(map[string]string, len(drafts))
	for i, d := range drafts {
		if d.key == "" {
			continue
		}
		if _, twice := ids[d.key]; twice {
			return nil, fmt.Errorf("%w: two tasks with the key %q", ErrInvalid, store.Clip(d.key))
		}
		ids[d.key] = store.FormatID(t.tx.Count(store.TaskCounter) + uint64(i) + 1)
	}
	return ids, nil
}

// resolve replaces keys by ids.
func (t *txn) resolve(names []string, ids map[string]string) ([]string, error) {
	list := make([]string, 0, len(names))
	for _, name := range names {
		id, isKey := ids[name]
		if !isKey {
			if !t.exists(name) {
				return nil, dependencyError(name)
			}
			id = name
		}
		list = append(list, id)
	}
	return store.Unique(list), nil
}

// checkNewGraph looks for cycles among new tasks only: no older task can depend on
// them.
func checkNewGraph(recs []*taskRecord) error {
	blocks := make(map[string][]string, len(recs))
	order := make([]string, len(recs))
	for i, rec := range recs {
		order[i] = rec.ID
		for _, b := range rec.BlockedBy {
			blocks[b] = append(blocks[b], rec.ID)
		}
	}
	if cycle := findCycle(order, func(id string) []string { return blocks[id] }); cycle != nil {
		return cycleError(cycle)
	}
	return nil
}

// admitTask makes a new pending task visible: record, indexes, event and mail.
func (t *txn) admitTask(a actors.Actor, rec *taskRecord) {
	t.save(nil, rec)
	t.emit(a, changeRecord{Op: Created, Task: rec})
	t.assign(a, rec, false)
}

// dependencyError clips the id, which may be any text.
func dependencyError(id string) error {
	return fmt.Errorf("%w: there is no task %q to wait for", ErrDependency, store.Clip(id))
}
