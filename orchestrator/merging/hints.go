package merging

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// hintsIn returns the hints about a difference that git has printed as a plain patch, and its size. task
// is what its author was asked for.
func (q *Queue) hintsIn(one Diff, task string) ([]hints.Hint, hints.Size) {
	files := hints.ParseDiff(one.Text)
	for i := range files {
		files[i].Name, files[i].Old = Below(one.Prefix, files[i].Name), Below(one.Prefix, files[i].Old)
	}
	list := hints.Find(hints.Work{Files: files, Judges: JudgesOf(q.Team()), Task: task})
	if one.Withheld != "" {
		list = append(list, hints.Hint{Kind: "not-shown", Word: "not shown", Text: "Some changes are not shown: " + one.Withheld})
	}
	for i := range list {
		for j := range list[i].Places {
			if p := &list[i].Places[j]; q.Mask != nil {
				p.Text = q.Mask(p.Text)
			}
		}
	}
	return list, hints.SizeOf(files)
}

// hintsOf returns the hints about finished work: those in what it changes itself, and what the queue knows of it. What is found in other
// work that its merge brings marks the hint that names that work. It returns the size of all that the merge brings, too.
func (q *Queue) hintsOf(ctx context.Context, r api.Review) ([]hints.Hint, hints.Size) {
	var task string
	for _, id := range r.Tasks {
		if t, err := q.Store.Task(ctx, id); err == nil {
			task += " " + t.Subject + " " + t.Description
		}
	}
	judged, same := false, false
	for _, v := range r.Verdicts {
		if v.Pass && v.Moment == "task" {
			judged, same = true, same || v.Tree == r.Tree
		}
	}
	plain := worktree.DiffOptions{Small: true}
	one, err := differ{q, plain}.of(ctx, r)
	if err != nil && r.State.Over() {
		return nil, hints.Size{} // its commits may be gone
	}
	list, size := q.hintsIn(one, task)
	var inherited []hints.Hint
	if len(r.Brings) > 0 && err == nil {
		inherited, _ = q.hintsIn(one, "")
		var text []byte
		if text, err = q.Repo.Diff(ctx, r.From, r.Commit, plain); err == nil {
			list, _ = q.hintsIn(Diff{Prefix: one.Prefix, Text: string(text)}, task)
			list, inherited = separate(list, inherited, r.Changes)
		}
	}
	if err != nil {
		list = append(list, hints.Hint{Kind: "not-read", Mark: true, Word: "not read",
			Text: "Its changes cannot be read: " + texts.OneLine(err.Error())})
	}
	list = addHint(list, "not-owned", true, "not its files", "The author may not write these files (owns).", r.Outside)
	list = addHint(list, "protected", true, "protected", "These files are protected.", r.Protected)
	if judged && !same && r.Tree != "" {
		list = append(list, hints.Hint{Kind: "other-files-judged", Mark: true, Word: "other files judged",
			Text: "The last gates agreed to other files than those that would be merged."})
	}
	for _, b := range r.Brings {
		text := "The merge brings " + b.Authored() + ", too"
		marks := hints.Words(slices.DeleteFunc(slices.Clone(inherited), func(h hints.Hint) bool { return !slices.ContainsFunc(b.Changes, h.Is) }))
		if len(marks) > 0 {
			text += ", which is marked: " + strings.Join(marks, ", ")
		}
		list = addHint(list, "brings", len(marks) > 0, "brings other work", text+".", b.Changes)
	}
	hints.Sort(list)
	return list, size
}

// separate takes apart what is found in the changes of a piece of work, own, and in all that its merge brings. A file that the merge leaves
// as it is has no hint: the work undoes there what other work has done. changes are the files that the merge changes.
func separate(own, all []hints.Hint, changes []string) (kept, inherited []hints.Hint) {
	known := func(h hints.Hint, p hints.Place) bool {
		return slices.ContainsFunc(kept, func(o hints.Hint) bool {
			return o.Kind == h.Kind && slices.ContainsFunc(o.Places, func(x hints.Place) bool { return x.File == p.File && x.Text == p.Text })
		})
	}
	without := func(h hints.Hint, goes func(hints.Place) bool) (hints.Hint, bool) {
		had := len(h.Places)
		h.Places = slices.DeleteFunc(slices.Clone(h.Places), goes)
		return h, len(h.Places) > 0 || had == 0
	}
	for _, h := range own {
		if h, ok := without(h, func(p hints.Place) bool { return !slices.Contains(changes, p.File) }); ok {
			kept = append(kept, h)
		}
	}
	for _, h := range all {
		if h, ok := without(h, func(p hints.Place) bool { return known(h, p) }); ok {
			inherited = append(inherited, h)
		}
	}
	return kept, inherited
}

// hintsGate returns the policy of a gate that refuses work with hints of some kinds: those that
// people see. No kinds are no policy. It also refuses what could not be looked at.
func (q *Queue) hintsGate(m tasks.Merge, kinds []string) runner.Policy {
	if kinds == nil {
		return nil
	}
	return func(ctx context.Context, _ hooks.Input) hooks.Result {
		one, err := reviewOne(ctx, q, m)
		if err != nil {
			return runner.Broken(err)
		}
		found, _ := q.hintsOf(ctx, one)
		var said strings.Builder
		for _, h := range found {
			if !slices.Contains(kinds, string(h.Kind)) && h.Kind != "too-large" && h.Kind != "not-read" {
				continue
			}
			said.WriteString(h.String() + "\n")
			for i, p := range h.Places {
				if i >= hints.MostShown {
					said.WriteString("  " + p.String() + "\n")
				}
			}
		}
		if said.Len() == 0 {
			return runner.Agree()
		}
		return runner.Refuse("%sThis team merges no work with such hints. If it has to be so, say why to the lead: the operator can "+
			"merge it all the same.", said.String())
	}
}

// addHint adds a hint about files, if there are any.
func addHint(list []hints.Hint, kind hints.Kind, mark bool, word, text string, files []string) []hints.Hint {
	var places []hints.Place
	for _, f := range files {
		places = append(places, hints.Place{File: f})
	}
	if h, ok := hints.New(kind, mark, word, text, places); ok {
		list = append(list, h)
	}
	return list
}

// hint journals the hints about work that has none, or whose merge brings less than when they were
// found, because other work was merged. Only Serve calls it.
func (d *Merger) hint(ctx context.Context) error {
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("find hints: %w", err)
	}
	over := map[string]bool{}
	for _, m := range merges {
		over[m.ID] = m.State.Over()
	}
	var errs []error
	for _, m := range merges {
		work := m.ID + " " + m.Commit // a merge gets the next commit of its branch as long as it waits
		brings, known := d.hinted[work]
		fewer := slices.ContainsFunc(brings, func(id string) bool { return over[id] })
		if known && (over[m.ID] || !fewer) || d.past[m.ID] {
			continue
		}
		one, err := reviewOne(ctx, d.queue, m)
		if err != nil {
			errs = append(errs, fmt.Errorf("find hints in %s: %w", m.Branch, err))
			continue
		}
		found, size := d.queue.hintsOf(ctx, one)
		brings = nil
		for _, b := range one.Brings {
			brings = append(brings, b.ID)
		}
		d.hinted[work] = brings
		var was view.Merge
		d.deps.State.Read(func(s *view.State) {
			if m := s.Merge(m.ID); m != nil {
				was = *m
			}
		})
		if was.Size != size || !slices.Equal(was.Brings, brings) || !reflect.DeepEqual(was.Hints, found) {
			d.deps.Journal.Append(events.Event{Member: m.Member, Data: events.WorkHinted{
				Merge: m.ID, Tasks: m.Tasks, Commit: m.Commit, Hints: found, Brings: brings, Size: size,
			}})
		}
	}
	return errors.Join(errs...)
}
