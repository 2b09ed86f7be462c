package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// receiptWriter writes a receipt for each merge of a team, and for each pull request. A nil one writes none.
//
// What it says is stored before the branch moves, so that it is also right if covey is killed between the
// two and the spec, or the store, has changed at the next start. It is signed and published after.
type receiptWriter struct {
	repo *worktree.Repo
	deps Deps
}

// receiptKey is the store key of the receipt of a merge that is about to land.
func receiptKey(m tasks.Merge) string { return "receipt-" + m.ID }

// draft stores what the receipt of a tested merge will say. tree is that of its result.
func (w *receiptWriter) draft(ctx context.Context, m tasks.Merge, tree string) error {
	if w == nil {
		return nil
	}
	r, err := w.describe(ctx, m, tree)
	if err != nil {
		return fmt.Errorf("describe the merge for its receipt: %w", err)
	}
	if err := w.deps.Store.Put(ctx, receiptKey(m), texts.Encode(r)); err != nil {
		return &storeError{fmt.Errorf("merge %s of %s: %w", m.ID, m.Branch, err)}
	}
	return nil
}

// publish signs and publishes the receipt of a merge that its branch contains, unless that was done.
func (w *receiptWriter) publish(ctx context.Context, m tasks.Merge, e *elsewhere) error {
	if w == nil || m.Result == "" {
		return nil
	}
	var r receipts.Merge
	if err := tasks.ReadValue(ctx, w.deps.Store, receiptKey(m), &r); err != nil {
		return err
	}
	if r.Commit != m.Result { // another merge brought the work, and has its own
		return nil
	}
	if err := w.sign(ctx, m, r, e); err != nil {
		return err
	}
	return w.deps.Store.Put(ctx, receiptKey(m), nil)
}

// propose signs and publishes the receipt of what is proposed as a pull request. After a crash it is proposed again.
func (w *receiptWriter) propose(ctx context.Context, m tasks.Merge, tree string, e *elsewhere) error {
	if w == nil {
		return nil
	}
	r, err := w.describe(ctx, m, tree)
	if err == nil {
		r.Proposed = true
		err = w.sign(ctx, m, r, e)
	}
	if err != nil {
		return fmt.Errorf("write the receipt of the pull request: %w", err)
	}
	return nil
}

// sign signs and publishes a receipt, and pushes it to where finished work goes; nil: nowhere.
func (w *receiptWriter) sign(ctx context.Context, m tasks.Merge, r receipts.Merge, e *elsewhere) error {
	key, err := receipts.TeamKey(w.deps.Place.Home(), w.deps.Team().Bus.Creds, w.deps.Team().Name)
	if err != nil {
		return err
	}
	payload, err := r.Payload()
	if err != nil {
		return err
	}
	signed, err := receipts.Sign(payload, key)
	if err != nil {
		return err
	}
	id, err := w.repo.AddBlob(ctx, receipts.Ref(m.Result), append(signed, '\n'), "covey: receipt of "+subject(m))
	if err != nil && !errors.Is(err, worktree.ErrMoved) { // it was written before a crash
		return err
	}
	return e.pushReceipt(ctx, m, id)
}

// describe collects what a receipt says about a tested merge.
func (w *receiptWriter) describe(ctx context.Context, m tasks.Merge, tree string) (receipts.Merge, error) {
	team := w.deps.Team()
	r := receipts.Merge{
		Covey: w.deps.Version, Team: team.Name, Target: m.Into, Commit: m.Result, Tree: tree, Base: m.Base, Work: m.Commit,
		Author: m.Member, Asked: m.By, Forced: m.Forced, Tasks: []receipts.Task{}, Gates: []receipts.Gate{},
		Approvers: []receipts.Approver{}, Policies: []receipts.Policy{}, Time: w.deps.Clock.Now().UTC(),
	}
	for _, id := range m.Tasks {
		t, err := w.deps.Store.Task(ctx, id)
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return r, err
		}
		r.Tasks = append(r.Tasks, receipts.Task{ID: id, Subject: t.Subject})
	}
	for _, p := range team.Policies {
		r.Policies = append(r.Policies, receipts.Policy{Where: w.shown(p.Where), SHA256: p.SHA256, Version: p.Version})
	}
	var err error
	if !m.Forced {
		if r.Gates, err = w.gates(ctx, m, tree); err != nil {
			return r, err
		}
	}
	if r.Approvers, err = w.approvers(ctx, m); err != nil {
		return r, err
	}
	w.deps.State.Read(func(s *view.State) {
		r.Hints = hintsIn(s, m)
		r.Box = boxesIn(s, team, m.Member, receipts.KeyPath(w.deps.Place.Home()))
	})
	gates, err := w.gatesHeld(team)
	if err != nil {
		return r, err
	}
	if !gates {
		r.Box.Open = append(r.Box.Open, "gates")
	}
	texts.MaskAll(&r, w.deps.Mask)
	return r, nil
}

// shown returns a path as it is on other machines, too, if it is in the repository.
func (w *receiptWriter) shown(path string) string {
	if rel, ok := texts.Below(w.repo.Top, path); ok {
		return rel
	}
	return path
}

// gates returns the gates that have agreed to a merge: all that there are, or it would not be about to
// land. A gate without a stored verdict has judged more than files, or files that it changed.
func (w *receiptWriter) gates(ctx context.Context, m tasks.Merge, tree string) ([]receipts.Gate, error) {
	found, err := w.deps.Store.Verdicts().About(ctx, m.Subject())
	if err != nil {
		return nil, err
	}
	list := []receipts.Gate{}
	for _, h := range handlersFor(w.deps.Team()) {
		line := strings.Join(append([]string{h.Command}, h.Args...), " ")
		g := receipts.Gate{Gate: cmp.Or(h.Policy, line), Verdict: receipts.Agreed}
		for _, v := range slices.Backward(found) {
			if v.Tree == tree && v.Pass && v.Command == h.Command {
				g.Tree, g.Digest, g.Time = v.Tree, v.Gate, v.Time
				break
			}
		}
		list = append(list, g)
	}
	return list, nil
}

// approvers returns who has approved a merge.
func (w *receiptWriter) approvers(ctx context.Context, m tasks.Merge) ([]receipts.Approver, error) {
	all, err := w.deps.Store.Requests().List(ctx)
	if err != nil {
		return nil, err
	}
	list := []receipts.Approver{}
	for _, r := range all {
		p := inbox.PayloadOf(r)
		if r.Kind == requests.AskMerge && p.Merge == m.ID && p.Commit == m.Commit && r.Approved() {
			list = append(list, receipts.Approver{Name: cmp.Or(r.By, r.To), Request: r.ID, Time: r.Closed})
		}
	}
	return list, nil
}

// gatesHeld reports whether boxes hold the gates of a team, which run what its members write.
func (w *receiptWriter) gatesHeld(team *configs.Team) (bool, error) {
	for _, h := range handlersFor(team) {
		if h.Type != "command" || h.Policy != "" {
			continue
		}
		s := team.GateSandbox.With(h.Sandbox)
		if w.deps.Box == nil || !s.On() || grants(s, team.Workspace, receipts.KeyPath(w.deps.Place.Home())) {
			return false, nil
		}
		if box, _, err := w.deps.Box(hooks.Input{}, h, w.repo.Top); err != nil || box == nil || box.Level() == 0 {
			return false, err
		}
	}
	return true, nil
}

// hintsIn returns the kinds of hints about the work of a merge.
func hintsIn(s *view.State, m tasks.Merge) []receipts.Hint {
	list := []receipts.Hint{}
	if known := s.Merge(m.ID); known != nil && known.Commit == m.Commit {
		for _, h := range known.Hints {
			list = append(list, receipts.Hint{Kind: string(h.Kind), Mark: h.Mark})
		}
	}
	return list
}

// boxesIn returns how the members of a team are held, and which can read the operator's key all the same.
// Who has not begun to work in this run counts as held by nothing, because it may have worked without a box
// before.
func boxesIn(s *view.State, team *configs.Team, author, key string) (b receipts.Box) {
	b.Open = []string{}
	for m := range team.Each() {
		held := s.Member(m.Name)
		if held == nil || held.Box == nil || held.Box.Level == 0 || grants(m.Sandbox, team.Workspace, key) {
			b.Open = append(b.Open, m.Name)
		}
		if m.Name == author && held != nil && held.Box != nil {
			b.Author, b.Lost = held.Box.Level, held.Box.Lost
		}
	}
	return b
}

// grants reports whether a box, or the workspace, holds a file.
func grants(s configs.Sandbox, workspace, file string) bool {
	return slices.ContainsFunc(slices.Concat(s.Read, s.Write, []string{workspace}), func(dir string) bool {
		return texts.Within(dir, file)
	})
}
