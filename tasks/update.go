package tasks

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// Patch is a change of a task. Nil and empty fields leave the task as it is.
//
// The status goes pending -> in_progress -> completed, pending -> completed,
// in_progress -> pending (the owner stays unless Owner says otherwise) and completed
// -> pending, which reopens the task and blocks the pending tasks that depend on it
// again; every other step fails with ErrTransition. A task in progress has an owner,
// and all its blockers were completed when it was started.
type Patch struct {
	Version uint64 // compare-and-set: the version the caller has seen; 0: any
	Epoch   uint64 // the epoch under which the caller owns the task; 0: any

	// Terms returns what binds the member that has the task in progress after the
	// change, or takes it by itself; nil: no terms. It is called in the committer, so
	// it must be quick.
	Terms func(member string) Terms
	// May is called before the task is changed, within the change and with the task
	// as it is then; its error refuses the change. It must be quick. nil: the change
	// is allowed.
	May func(Task) error
	// Reason stands in the event, for people: why an actor other than the owner made
	// the change.
	Reason string

	Status      *Status
	Subject     *string
	Description *string
	ActiveForm  *string
	Owner       *string // "" removes the owner

	AddBlocks    []string // ids of tasks that this one blocks from now on
	AddBlockedBy []string // ids of tasks that block this one from now on

	Metadata map[string]json.RawMessage // merged into the task's; null deletes a key
	Evidence []Evidence                 // added to the task's, in the actor's name
}

// packedPatch is a Patch after checking and packing.
type packedPatch struct {
	Patch
	description *store.Long
	metadata    packedMetadata
}

// Update changes a task, and returns it with the names of the fields that changed, in
// the order subject, description, activeForm, owner, metadata, evidence, status,
// blocks, blockedBy. A patch that changes nothing is no error, and makes no version
// and no event.
//
// An owner set by somebody else gets a task assignment. Completing a task unblocks
// its dependents, and their owners are told, except the actor.
//
// Update fails with ErrNotFound; with ErrConflict and ErrStale if Version or Epoch do
// not match, and with ErrStale if it sets the outcome of a task that was taken from
// the actor and the actor has not read about it yet (TaskLost); with ErrTransition;
// with ErrBlocked if the task is to start but has open blockers; with ErrUnsuited and
// ErrBusy by Terms; with ErrDependency and ErrCycle; with ErrInvalid if p cannot be
// stored.
func (s *Store) Update(ctx context.Context, a actors.Actor, id string, p Patch) (Task, []string, error) {
	c := s.db.Job("update")
	packed, err := packPatch(c, p)
	if err != nil {
		return Task{}, nil, c.Abandon(err)
	}
	r, err := act(ctx, c, a, func(t *txn) (*receiptRecord, error) { return t.patch(a, id, packed) })
	return r.task(), r.Updated, err
}

// packPatch checks and copies the fields that are set. It copies them because the
// change may still run after its caller has returned and changed them.
func packPatch(c *store.Job, p Patch) (packedPatch, error) {
	packed := packedPatch{Patch: p}
	packed.Reason = store.Clean(p.Reason)
	packed.Status, packed.Owner = copied(p.Status), copied(p.Owner)
	packed.AddBlocks, packed.AddBlockedBy = slices.Clone(p.AddBlocks), slices.Clone(p.AddBlockedBy)
	if p.Subject != nil {
		subject, err := cleanSubject(*p.Subject)
		if err != nil {
			return packedPatch{}, err
		}
		packed.Subject = &subject
	}
	if p.ActiveForm != nil {
		form, err := store.CleanShort("active form", *p.ActiveForm)
		if err != nil {
			return packedPatch{}, err
		}
		packed.ActiveForm = &form
	}
	if p.Owner != nil && *p.Owner != "" {
		if err := store.CheckName("owner", *p.Owner); err != nil {
			return packedPatch{}, err
		}
	}
	if p.Description != nil {
		description, err := c.Pack(*p.Description)
		if err != nil {
			return packedPatch{}, err
		}
		packed.description = &description
	}
	var err error
	if packed.Evidence, err = cleanEvidence(p.Evidence); err != nil {
		return packedPatch{}, err
	}
	packed.metadata, err = packMetadata(c, p.Metadata)
	return packed, err
}

// copied protects a value from changes by the caller while the transaction runs.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// patch first decides (admits, newEdges, patched), then writes.
func (t *txn) patch(a actors.Actor, id string, p packedPatch) (*receiptRecord, error) {
	was, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if err := p.admits(was.Task); err != nil {
		return nil, err
	}
	if p.setsOutcome() {
		if err := t.checkNotLost(a, was); err != nil {
			return nil, err
		}
	}
	if p.May != nil {
		if err := p.May(was.Task); err != nil {
			return nil, err
		}
	}
	e, err := t.newEdges(was, p.Patch)
	if err != nil {
		return nil, err
	}
	rec, fields, err := t.patched(a, was, p, e)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return &receiptRecord{Task: t.withBlocks(was)}, nil
	}
	t.save(was, rec)
	losses{t}.forget(rec)
	t.emit(a, changeRecord{Op: opOf(was.Status, rec.Status), Task: rec, Fields: fields, Reason: p.Reason})
	for _, dependent := range e.blocks {
		t.revise(a, dependent, func(list []string) []string { return append(list, id) })
	}
	t.follow(a, was, rec, p.Reason)
	return &receiptRecord{Task: t.withBlocks(rec), Updated: fields}, nil
}

// patched returns the record after the patch, and what differs. It writes nothing.
func (t *txn) patched(a actors.Actor, was *taskRecord, p packedPatch, e edges) (*taskRecord, []string, error) {
	blockers := slices.Concat(t.waiting(was.ID), e.open)
	rec := t.next(was)
	task, fields, err := p.advance(rec.Task, a, blockers)
	if err != nil {
		return nil, nil, err
	}
	if err := t.checkTerms(a, was.Task, task, p.Terms); err != nil {
		return nil, nil, err
	}
	rec.Task = task
	if p.description != nil && !rec.same("description", *p.description) {
		rec.set("description", *p.description)
		fields = append(fields, "description")
	}
	merged, err := rec.mergeMetadata(p.metadata)
	if err != nil {
		return nil, nil, err
	}
	if merged {
		fields = append(fields, "metadata")
	}
	shown, err := rec.attach(a, t.tx.Now(), p.Evidence)
	if err != nil {
		return nil, nil, err
	}
	if shown {
		fields = append(fields, "evidence")
	}
	if slices.Contains(fields, "subject") || slices.Contains(fields, "description") {
		rec.Author = a.Name
	}
	if len(e.blocks) > 0 {
		fields = append(fields, "blocks")
	}
	if len(e.blockedBy) > 0 {
		rec.BlockedBy = append(rec.BlockedBy, e.blockedBy...)
		fields = append(fields, "blockedBy")
	}
	return rec, inOrder(fields), nil
}

// inOrder sorts field names in the order in which TaskUpdate lists them.
func inOrder(fields []string) []string {
	order := []string{
		"subject", "description", "activeForm", "owner", "metadata", "evidence", "status", "blocks", "blockedBy",
	}
	return slices.DeleteFunc(order, func(f string) bool { return !slices.Contains(fields, f) })
}

// opOf names an update by its effect on the status.
func opOf(was, now Status) Op {
	switch {
	case was == now:
		return Updated
	case now == InProgress:
		return Claimed
	case now == Completed:
		return TaskCompleted
	case was == InProgress:
		return Released
	}
	return Updated // reopened
}

// follow updates the other tasks and members that a change of a task affects.
func (t *txn) follow(a actors.Actor, was, rec *taskRecord, reason string) {
	losses{t}.recordAndNotify(a, was, rec, reason)
	if rec.Owner != was.Owner {
		t.assign(a, rec, false)
	}
	switch {
	case rec.Status == Completed && was.Status != Completed:
		t.unblock(a, rec.ID)
	case rec.Status != Completed && was.Status == Completed:
		t.block(rec.ID)
	}
}

// edges are the new dependencies that a patch adds.
type edges struct {
	blocks    []string
	blockedBy []string
	open      []string // those of blockedBy that are not completed
}

// newEdges checks the dependencies of a patch: their tasks must exist, and there must
// be no cycle.
func (t *txn) newEdges(rec *taskRecord, p Patch) (edges, error) {
	var e edges
	deps := t.Bucket(bucketDeps)
	for _, id := range store.Unique(p.AddBlocks) {
		if !t.exists(id) {
			return e, dependencyError(id)
		}
		dependent, _ := store.ParseID(id)
		if deps.Get(store.PairKey(rec.number(), dependent)) == nil {
			e.blocks = append(e.blocks, id)
		}
	}
	for _, id := range store.Unique(p.AddBlockedBy) {
		if slices.Contains(rec.BlockedBy, id) {
			continue
		}
		blocker, err := t.load(id)
		if err != nil {
			return e, dependencyError(id)
		}
		e.blockedBy = append(e.blockedBy, id)
		if blocker.Status != Completed {
			e.open = append(e.open, id)
		}
	}
	if len(e.blocks)+len(e.blockedBy) == 0 {
		return e, nil
	}
	if cycle := findCycle([]string{rec.ID}, t.withEdges(rec.ID, e)); cycle != nil {
		return e, cycleError(cycle)
	}
	return e, nil
}

// withEdges returns the function that lists a task's dependents, including the new
// edges of id.
func (t *txn) withEdges(id string, e edges) func(string) []string {
	blockers := make(map[string]bool, len(e.blockedBy))
	for _, b := range e.blockedBy {
		blockers[b] = true
	}
	return func(n string) []string {
		next := t.dependents(n)
		if n == id {
			next = append(next, e.blocks...)
		}
		if blockers[n] {
			next = append(next, id)
		}
		return next
	}
}
