package merging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// A team whose tasks outlive its host pushes its work, too. A task is completed after its commit is
// pushed, to a reference of its own, and a merge is done after the target branch is: the push comes
// first and compares where the branch was, so that a host which no longer leads the team is refused.
// What has been pushed and not recorded is found by the next attempt.

// elsewhere is the remote of a team.
type elsewhere struct {
	*worktree.Remote
	refs string // where the finished work of the team is, there and in the operator's repository
	// until calls do, again and again, until it succeeds or must not be repeated, and meanwhile
	// tells people. what names what is to be pushed.
	until func(ctx context.Context, member, what string, do func() error) error
}

// keyHost is the store key of the host and state folder of the last run.
const keyHost = "host"

// Times between two attempts to reach the remote.
const (
	firstPause = time.Second
	longPause  = 30 * time.Second
)

// openElsewhere fetches what other hosts have pushed, if the team can go on there.
func (d *Merger) openElsewhere(ctx context.Context) error {
	if !d.deps.Team().Bus.Given() {
		return nil
	}
	remote, err := d.deps.Trees.Remote(ctx)
	if err != nil {
		return err
	}
	d.queue.Elsewhere = &elsewhere{remote, "refs/covey/" + d.deps.Team().Name + "/", d.untilPushed}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the name of this host: %w", err)
	}
	var last string
	here := d.deps.Place.Dir + " on " + name
	if err := tasks.ReadValue(ctx, d.deps.Store, keyHost, &last); err != nil {
		return err
	}
	err = d.queue.takeOver(ctx)
	if last == here {
		d.warn(err) // it has all of that
		return nil
	}
	if err != nil {
		return texts.Errorf(worktree.ErrNoRemote, "what the team has pushed cannot be fetched: %s; once git fetch works there, run covey up again",
			texts.Preview(err.Error(), 500))
	}
	if last != "" {
		if err := d.tellLeft(ctx, last); err != nil {
			return err
		}
	}
	return d.deps.Store.Put(ctx, keyHost, texts.Encode(here))
}

// tellLeft names in the inbox what another host had and has not pushed.
func (d *Merger) tellLeft(ctx context.Context, host string) error {
	all, err := d.deps.Store.List(ctx)
	if err != nil {
		return err
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return err
	}
	left := func(member, what string) error {
		_, err := d.deps.Inbox.Ask(ctx, actors.Actor{Name: member}, requests.New{
			Kind: requests.AskMerge, Member: member, To: actors.Operator, Key: requests.KeyOf("left", host, what),
			Text: what + " was not pushed and is in " + host + "; if that host is back, push it from there; either answer removes this line",
		})
		return err
	}
	begun := map[string][]string{} // by member, what it has begun
	for _, t := range all {
		if t.Status == tasks.InProgress {
			begun[t.Owner] = append(begun[t.Owner], "on task "+t.ID)
		}
	}
	d.deps.State.Read(func(s *view.State) {
		for m := range d.deps.Team().Each() {
			if at := s.Member(m.Name); at != nil && at.InTurn && begun[m.Name] == nil {
				begun[m.Name] = []string{fmt.Sprintf("in turn %d", at.Turn)}
			}
		}
	})
	for m := range d.deps.Team().Each() {
		for _, what := range begun[m.Name] {
			if !m.CanWrite() {
				continue
			}
			if err := left(m.Name, fmt.Sprintf("what %s has done %s so far", m.Name, what)); err != nil {
				return err
			}
		}
	}
	for _, m := range merges {
		if _, err := d.queue.Repo.Commit(ctx, m.Commit); !m.State.Over() && errors.Is(err, worktree.ErrNoRef) {
			if err := left(m.Member, fmt.Sprintf("%s of %s (commit %.10s)", subject(m), m.Member, m.Commit)); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOver fetches finished work, and brings the target branch to where the remote has it.
func (q *Queue) takeOver(ctx context.Context) error {
	if err := q.Elsewhere.Fetch(ctx, q.Elsewhere.refs, q.Elsewhere.refs); err != nil {
		return err
	}
	into := q.Team().Merge.Into
	if into == "" {
		head, err := q.Repo.Head(ctx)
		if err != nil || head.Branch == "" {
			return err
		}
		into = head.Branch
	}
	at, err := q.Elsewhere.At(ctx, ref(into))
	if err != nil {
		return err
	}
	err = q.follow(ctx, into, at)
	if err == nil && at != "" {
		q.tidy(ctx, at)
	}
	if errors.As(err, new(*worktree.Obstacle)) || errors.Is(err, worktree.ErrMoved) {
		return nil // each merge says so
	}
	return err
}

// untilPushed is elsewhere.until.
func (d *Merger) untilPushed(ctx context.Context, member, what string, do func() error) error {
	key, begun := requests.KeyOf("push", what), time.Now()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := do()
		if err == nil || errors.Is(err, worktree.ErrMoved) {
			asked, found, findErr := d.deps.Store.Requests().Asked(ctx, member, requests.AskMerge, key)
			if findErr == nil && found && asked.Open() {
				findErr = d.deps.Inbox.Withdraw(ctx, asked.ID, "it is pushed")
			}
			return errors.Join(err, findErr)
		}
		if ctx.Err() != nil {
			return err
		}
		if pause == firstPause {
			r, askErr := d.deps.Inbox.Ask(ctx, actors.Actor{Name: member}, requests.New{
				Kind: requests.AskMerge, Member: member, To: actors.Operator, Key: key,
				Text: fmt.Sprintf("%s is not pushed yet, and waits: %s; covey tries again until git push works there",
					what, texts.Preview(d.deps.Mask(err.Error()), 1000)),
			})
			if askErr != nil {
				return errors.Join(err, askErr)
			}
			d.deps.Inbox.Notify(ctx, member, r)
		}
		if waited := time.Since(begun); !d.deps.Inbox.Reachable() && waited >= d.deps.Inbox.Limit() {
			select {
			case d.stranded <- texts.Errorf(worktree.ErrNoRemote, "%s could not be pushed for %s, and nobody is there to mend it: %s; once git push works there, covey up continues the team",
				what, waited.Round(time.Second), texts.Preview(d.deps.Mask(err.Error()), 500)):
			default: // the run ends
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s is not pushed: %w", what, errors.Join(err, context.Cause(ctx)))
		}
	}
}

// Stranded waits until the remote has taken nothing for as long as a question waits, while nobody can be
// asked, and returns why. It returns ctx's error if ctx ends first.
func (d *Merger) Stranded(ctx context.Context) error {
	select {
	case err := <-d.stranded:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Secure pushes the work on a task that is about to be completed. It returns once that is done. It
// does nothing for a team that one host has, and for a member without a working copy.
func (d *Merger) Secure(ctx context.Context, t tasks.Task) error {
	if d.queue.Elsewhere == nil || t.Owner == "" || !d.hasCopy(t.Owner) {
		return nil
	}
	commit, err := d.commit(ctx, t)
	if err != nil || commit == "" {
		return err
	}
	return d.queue.pushTask(ctx, t, commit)
}

// commit commits the work on a task.
func (d *Merger) commit(ctx context.Context, t tasks.Task) (string, error) {
	d.taking.Lock()
	defer d.taking.Unlock()
	copy, ok, err := d.copyOf(ctx, t.Owner)
	if err != nil || !ok {
		return "", err
	}
	head, err := d.queue.commit(ctx, copy, tasks.Merge{Member: t.Owner, Title: t.Subject, Tasks: []string{t.ID}})
	if err != nil {
		return "", fmt.Errorf("commit the work of %s on task %s: %w", t.Owner, t.ID, err)
	}
	return head.Commit, nil
}

// pushTask pushes finished work. What is there and belongs to other work, such as that of a team that
// was begun anew, stays under a name with its commit.
func (q *Queue) pushTask(ctx context.Context, t tasks.Task, commit string) error {
	e := q.Elsewhere
	to := e.refs + t.Owner + "/" + t.ID
	return e.until(ctx, t.Owner, fmt.Sprintf("the work of %s on task %s", t.Owner, t.ID), func() error {
		was, err := e.At(ctx, to)
		if err == nil && was != "" && was != commit {
			err = q.keepThere(ctx, to, was, commit)
		}
		if err == nil && was != commit {
			err = e.Push(ctx, to, worktree.Step{From: was, To: commit})
		}
		if errors.Is(err, worktree.ErrMoved) {
			err = errors.New(err.Error()) // another host was faster: look again
		}
		return err
	})
}

// keepThere keeps what a reference of the remote names, unless a commit contains it.
func (q *Queue) keepThere(ctx context.Context, from, was, commit string) error {
	if err := q.Elsewhere.Fetch(ctx, from, from); err != nil {
		return err
	}
	if kept, err := q.Repo.Holds(ctx, commit, was); err != nil || kept {
		return err
	}
	name := fmt.Sprintf("%s-%.12s", from, was)
	if at, err := q.Elsewhere.At(ctx, name); err != nil || at == was {
		return err
	}
	return q.Elsewhere.Push(ctx, name, worktree.Step{To: was})
}

// pushTarget pushes the result of a merge as the target branch. The error wraps worktree.ErrMoved if
// the branch has something else there.
func (q *Queue) pushTarget(ctx context.Context, m tasks.Merge) error {
	e := q.Elsewhere
	if e == nil {
		return nil
	}
	if q.Watch != nil {
		if err := q.Watch.pushes(ctx, m.Into, m.Result); err != nil {
			return err
		}
	}
	return e.until(ctx, m.Member, fmt.Sprintf("the merge %s of %s into %s", m.ID, m.Member, m.Into), func() error {
		was, err := e.At(ctx, ref(m.Into))
		if err != nil || was == m.Result {
			return err
		}
		if was != "" {
			if has, err := q.has(ctx, m.Result, was); err != nil || !has {
				return errors.Join(err, fmt.Errorf("%w: %s of %s", worktree.ErrMoved, m.Into, e))
			}
		}
		return e.Push(ctx, ref(m.Into), worktree.Step{From: was, To: m.Result})
	})
}

// pushReceipt pushes the receipt of a merge, an object with that id, unless it was pushed before. A nil
// elsewhere takes none.
func (e *elsewhere) pushReceipt(ctx context.Context, m tasks.Merge, id string) error {
	if e == nil {
		return nil
	}
	err := e.until(ctx, m.Member, fmt.Sprintf("the receipt of merge %s of %s", m.ID, m.Member), func() error {
		return e.Push(ctx, receipts.Ref(m.Result), worktree.Step{To: id})
	})
	if errors.Is(err, worktree.ErrMoved) {
		err = nil
	}
	return err
}

// tidy removes the references to finished work that a commit of the target branch contains, at the remote
// and here. What cannot be removed now is when the team begins next.
func (q *Queue) tidy(ctx context.Context, tip string) {
	if q.Elsewhere == nil {
		return
	}
	all, err := q.Elsewhere.Refs(ctx, q.Elsewhere.refs)
	if err != nil {
		return
	}
	maps.DeleteFunc(all, func(name, _ string) bool { // copies of members and what nodes begin with are no finished work
		id := path.Base(name)
		return id[0] < '0' || id[0] > '9'
	})
	merged, err := q.Repo.Merged(ctx, tip, slices.Collect(maps.Values(all)))
	if err != nil {
		return
	}
	for name, commit := range all {
		if !merged[commit] {
			continue
		}
		gone := worktree.Step{From: commit, Why: "covey: merged"}
		if q.Elsewhere.Push(ctx, name, gone) == nil {
			_ = q.Repo.Move(ctx, name, gone) // only a host that has fetched it has it
		}
	}
}

// catchUp brings a target branch to where the remote has it, if that is ahead.
func (q *Queue) catchUp(ctx context.Context, into string) error {
	if q.Elsewhere == nil {
		return nil
	}
	var at string
	err := q.Elsewhere.until(ctx, q.Team().Lead.Name, "what is merged into "+into, func() (err error) {
		at, err = q.Elsewhere.At(ctx, ref(into))
		return err
	})
	if err != nil {
		return err
	}
	return q.follow(ctx, into, at)
}

// follow brings a target branch to a commit that the remote has for it.
func (q *Queue) follow(ctx context.Context, into, at string) error {
	here, err := q.Repo.Commit(ctx, ref(into))
	if errors.Is(err, worktree.ErrNoRef) {
		here, err = "", nil
	}
	if err != nil || at == "" || at == here {
		return err
	}
	if here != "" {
		if ahead, err := q.has(ctx, here, at); err != nil || ahead {
			return err
		}
	}
	fetched := "refs/remotes/origin/" + into // as git fetch
	if err := q.Elsewhere.Fetch(ctx, ref(into), fetched); err != nil {
		return err
	}
	if at, err = q.Repo.Commit(ctx, fetched); err != nil {
		return err
	}
	step := worktree.Step{From: here, To: at, Why: "covey: fetched from " + q.Elsewhere.String()}
	if here == "" {
		return q.Repo.Move(ctx, ref(into), step)
	}
	if ahead, err := q.Repo.Holds(ctx, at, here); err != nil || !ahead {
		return errors.Join(err, texts.Errorf(worktree.ErrMoved,
			"%s and that of %s have diverged; git pull --no-rebase joins them, then run covey merge", into, q.Elsewhere))
	}
	there, err := q.Repo.On(ctx, into)
	if err != nil {
		return err
	}
	if there == nil {
		return q.Repo.Move(ctx, ref(into), step)
	}
	return there.Advance(ctx, at)
}

// has reports whether a commit contains another one, which need not be here.
func (q *Queue) has(ctx context.Context, commit, other string) (bool, error) {
	if _, err := q.Repo.Commit(ctx, other); err != nil {
		if errors.Is(err, worktree.ErrNoRef) {
			err = nil
		}
		return false, err
	}
	return q.Repo.Holds(ctx, commit, other)
}
