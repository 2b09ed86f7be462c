package merging

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// bundle is what a merge brings into its branch. Reviews, differences and approvals all go by it.
type bundle struct {
	// From is where it begins: the merge brings the changes From..Commit.
	From string
	// Others are the other pieces of work whose commits it brings, the oldest first.
	Others []tasks.Merge
}

// brings returns what the merge of m into base brings. Work that is merged, or dropped, has been
// merged into what its branch was then.
func (q *Queue) brings(ctx context.Context, m tasks.Merge, base string) (bundle, error) {
	if m.State.Over() {
		if base = m.Base; base == "" {
			return bundle{From: m.From}, nil
		}
	}
	from, err := q.Repo.MergeBase(ctx, base, m.Commit)
	if err != nil || from == "" { // they have no commit in common
		return bundle{}, err
	}
	b := bundle{From: from}
	if q.Store == nil {
		return b, nil
	}
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return b, fmt.Errorf("find what %s contains: %w", m.Branch, err)
	}
	all = slices.DeleteFunc(all, func(o tasks.Merge) bool {
		return o.ID == m.ID || o.Into != m.Into || o.State == tasks.MergeDropped
	})
	if len(all) == 0 {
		return b, nil
	}
	commits, err := q.Repo.Log(ctx, m.Commit, base)
	if err != nil {
		return b, fmt.Errorf("find what %s contains: %w", m.Branch, err)
	}
	in := map[string]bool{}
	for _, c := range commits {
		in[c.ID] = true
	}
	for _, o := range all {
		if in[o.Commit] {
			b.Others = append(b.Others, o)
		}
	}
	return b, nil
}

// repaired reports whether the bundle of m has the work that repairs one of its pieces, so that
// the question about that one is the question about both.
func (b bundle) repaired(p, m tasks.Merge) bool { return view.Repaired(p, m, b.Others) }

// refused names the pieces of the bundle of m to which a person has said no.
func (b bundle) refused(m tasks.Merge) (names []string) {
	for _, p := range b.Others {
		if p.Refused && !p.State.Over() && !b.repaired(p, m) {
			names = append(names, p.Authored())
		}
	}
	return names
}

// approved reports whether m and every piece that it brings are approved. Until then m is held, and
// other work goes on. Each piece has a question of its own: a yes to one says nothing about another.
// files are the protected files that the merge changes.
func (q *Queue) approved(ctx context.Context, m tasks.Merge, b bundle, files []string) (tasks.Merge, bool, error) {
	var first Answer // that is not yes
	why, open := "", false
	asked := map[string]bool{} // protected files that other pieces answer for
	for _, p := range b.Others {
		of, err := q.among(ctx, p, files)
		if err != nil {
			return m, false, fmt.Errorf("ask about %s: %w", p.Branch, err)
		}
		if b.repaired(p, m) || len(of) == 0 && !q.allNeedApproval() {
			continue
		}
		for _, f := range of {
			asked[f] = true
		}
		a, err := q.Ask(ctx, p, of, nil)
		if err != nil {
			return m, false, err
		}
		if !a.Yes && !open {
			first, why, open = a, "it contains "+name(p)+", which waits for approval", true
		}
	}
	mine := files
	if len(asked) > 0 {
		own, err := q.among(ctx, m, files)
		if err != nil {
			return m, false, fmt.Errorf("ask about %s: %w", m.Branch, err)
		}
		mine = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return asked[f] && !slices.Contains(own, f) })
	}
	if m.Files = mine; len(mine) > 0 || q.allNeedApproval() {
		a, err := q.Ask(ctx, m, mine, b.Others)
		if err != nil {
			return m, false, err
		}
		if a.No {
			back, err := q.returnToAuthor(ctx, m, denied(m, mine, a.Text))
			return back, false, err
		}
		if !a.Yes && !open {
			first, why, open = a, "it waits for approval", true
			if len(mine) > 0 {
				why = "it changes protected files"
			}
		}
	}
	if !open {
		return m, true, nil
	}
	switch {
	case first.Late:
		why += unanswered
	case first.No:
		why += ", which was refused"
	default:
		m.Asked = first.ID
		why += inInbox
	}
	held, err := q.set(ctx, m, tasks.MergeHeld, why)
	return held, false, err
}

// among returns those files that a piece of work changes itself.
func (q *Queue) among(ctx context.Context, m tasks.Merge, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	changes, err := q.Repo.Changed(ctx, m.From, m.Commit)
	if err != nil {
		return nil, fmt.Errorf("find what %s changes: %w", m.Branch, err)
	}
	own := Paths(changes, q.Repo.Prefix)
	return slices.DeleteFunc(own, func(f string) bool { return !slices.Contains(files, f) }), nil
}

// brought describes the other pieces of a bundle.
func (q *Queue) brought(ctx context.Context, b bundle) ([]api.Brought, error) {
	var list []api.Brought
	if len(b.Others) == 0 {
		return nil, nil
	}
	open, err := q.Store.Requests().Open(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("the questions about work: %w", err)
	}
	for _, o := range b.Others {
		one := api.Brought{Merge: o}
		changes, err := q.Repo.Changed(ctx, o.From, o.Commit)
		if err != nil {
			return nil, fmt.Errorf("find what %s changes: %w", o.Branch, err)
		}
		one.Changes = Paths(changes, q.Repo.Prefix)
		one.Protected = writes.Protected(q.Team().Protect, one.Changes)
		i := slices.IndexFunc(open, func(r requests.Request) bool { return inbox.PayloadOf(r).Merge == o.ID })
		if i >= 0 {
			one.Request = open[i].ID
		}
		list = append(list, one)
	}
	return list, nil
}
