package merging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// Bounds of what tests are run for one piece of work.
const (
	mostProofs = 30
	proofTime  = 5 * time.Minute
)

// proof is what the tests of a spec say about a piece of work.
type proof struct {
	Commit string
	By     string               // their commands
	Ran    map[string]hints.Ran // by what was edited, so that nothing runs twice
	Took   time.Duration
	Done   bool
	Hints  []hints.Hint
}

// proven returns the hints that the tests of the spec have given about the work.
func (q *Queue) proven(ctx context.Context, m tasks.Merge) []hints.Hint {
	var p proof
	if err := tasks.ReadValue(ctx, q.Store, m.TrialKey(), &p); err != nil || p.Commit != m.Commit {
		return nil
	}
	return p.Hints
}

// errLater means that something else is to be done first.
var errLater = errors.New("there is other work to do")

// prove runs the tests of the spec on parts of the work that waits for a person, one piece after another.
// Unless last is set, it ends as soon as there is something else to do, and goes on when it is called again.
// With last the run ends after it, which proofTime bounds for all work together; the next run goes on.
func (d *Merger) prove(ctx context.Context, last bool) error {
	gates := d.deps.Team().Tests
	if len(gates) == 0 {
		return nil
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("run tests on parts of work: %w", err)
	}
	trying := ctx
	if last {
		var cancel context.CancelFunc
		trying, cancel = context.WithTimeout(ctx, proofTime)
		defer cancel()
	}
	var failed []error
	for _, m := range merges {
		if !m.State.Stands() {
			continue
		}
		d.queue.working.Lock()
		err := d.proveOne(trying, m, gates, last)
		d.queue.working.Unlock()
		if errors.Is(err, errLater) || trying.Err() != nil {
			break
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("run tests on parts of %s: %w", m.Branch, err))
		}
	}
	return errors.Join(append(failed, d.hint(ctx))...)
}

// proveOne is prove for one piece of work. The caller holds queue.working.
func (d *Merger) proveOne(ctx context.Context, m tasks.Merge, gates []hooks.Handler, last bool) error {
	var p proof
	if err := tasks.ReadValue(ctx, d.deps.Store, m.TrialKey(), &p); err != nil {
		return err
	}
	if by := string(texts.Encode(gates)); p.Commit != m.Commit || p.By != by {
		p = proof{Commit: m.Commit, By: by, Ran: map[string]hints.Ran{}}
	}
	if p.Done {
		return nil
	}
	text, err := d.queue.Repo.Diff(ctx, m.From, m.Commit, worktree.DiffOptions{Small: true})
	if err != nil {
		return err
	}
	if last && !d.lingers {
		d.lingers = true
		d.deps.Journal.Tell(events.HeldUp{For: fmt.Sprintf("trials of tests on parts of finished work, %d minutes at most; Ctrl-C leaves them to the next run",
			int(proofTime.Minutes()))})
	}
	p.Hints, err = hints.Evidence(hints.ParseDiff(string(text)), func(name string, edits []hints.Edit) (hints.Ran, error) {
		known, ran := p.Ran[name]
		switch {
		case ran:
			return known, nil
		case len(p.Ran) >= mostProofs || p.Took >= proofTime:
			return hints.Untried, nil
		}
		began, result := d.deps.Clock.Now(), hints.Untried
		err := d.interruptibly(ctx, proofTime-p.Took, last, func(ctx context.Context) (err error) {
			result, err = d.tries(ctx, m, gates, edits)
			return err
		})
		late := errors.Is(err, errTooLong)
		if err == nil || late {
			p.Took += d.deps.Clock.Now().Sub(began)
			if late { // a condition that is turned can make a loop endless
				result, p.Took = hints.Untried, proofTime
			}
			p.Ran[name] = result
			err = d.deps.Store.Put(ctx, m.TrialKey(), texts.Encode(p))
		}
		return result, err
	})
	if err != nil {
		return err
	}
	for i := range p.Hints {
		for j := range p.Hints[i].Places {
			at := &p.Hints[i].Places[j]
			at.File = Below(d.queue.Repo.Prefix, at.File)
			if d.queue.Mask != nil {
				at.Text = d.queue.Mask(at.Text)
			}
		}
	}
	p.Done, p.Ran = true, nil
	delete(d.hinted, m.ID+" "+m.Commit) // there is more to be told
	return d.deps.Store.Put(ctx, m.TrialKey(), texts.Encode(p))
}

// errTooLong means that a trial took all the time that was left.
var errTooLong = errors.New("there is no time left")

// interruptibly calls do, which ends with errTooLong after a limit and, unless last is set, with errLater as soon as
// there is other work to do: a person who merges must not wait for a trial.
func (d *Merger) interruptibly(ctx context.Context, limit time.Duration, last bool, do func(context.Context) error) error {
	ctx, expire := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer expire()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	if !last {
		watch.Go(func() {
			select {
			case <-d.woken:
				cancel(errLater)
				d.wake() // Serve has to see it, too
			case <-ctx.Done():
			}
		})
	}
	err := do(ctx)
	if ctx.Err() != nil { // no result of it counts
		return context.Cause(ctx)
	}
	return err
}

// tries runs tests on a piece of work with edits.
func (d *Merger) tries(ctx context.Context, m tasks.Merge, gates []hooks.Handler, edits []hints.Edit) (hints.Ran, error) {
	copy, err := d.queue.scratch(ctx, m.Commit)
	if err != nil {
		return hints.Untried, fmt.Errorf("a working copy: %w", err)
	}
	if err := edit(copy.Top, edits); err != nil {
		return hints.Untried, err
	}
	m.Base = m.From // whose scripts count
	t := Trial{Merge: m, Copy: copy, Part: true}
	about, err := d.about(ctx, t)
	if err != nil {
		return hints.Untried, err
	}
	runner, err := d.runner(t, gates, "")
	if err != nil {
		return hints.Untried, err
	}
	out, err := runner.Run(ctx, d.gateInput(t, about), func(hooks.Progress) {}) // no gate judges the work
	if out.Decision == hooks.Pass {
		return hints.Passed, err
	}
	return hints.Failed, err
}

// edit edits files below a folder, and none to which a link leads out of it.
func edit(top string, edits []hints.Edit) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range edits {
		name := filepath.FromSlash(e.File)
		if e.Gone {
			err = root.Remove(name)
		} else {
			var text []byte
			if e.Made {
				err = root.MkdirAll(filepath.FromSlash(path.Dir(e.File)), 0o755)
			} else {
				text, err = root.ReadFile(name)
			}
			if err == nil {
				err = root.WriteFile(name, []byte(e.Apply(string(text))), 0o755)
			}
		}
		if err != nil {
			return fmt.Errorf("edit %s: %w", strings.ToValidUTF8(e.File, "?"), err)
		}
	}
	return nil
}
