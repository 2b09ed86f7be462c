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
	judged, same := false, false
	for _, v := range r.Verdicts {
		if v.Pass && v.Moment == "task" {
			judged, same = true, same || v.Tree == r.Tree
		}
	}
	one, err := differ{q, worktree.DiffOptions{Small: true}}.of(ctx, r)
	if err != nil && r.State.Over() {
		return nil, hints.Size{} // its commits may be gone
	}
	list, size := q.hintsIn(one, q.taskText(ctx, r.Merge))
	var all []hints.Hint
	if len(r.Brings) > 0 && err == nil {
		all, _ = q.hintsIn(one, "")
		if list, err = q.ownHints(ctx, r.Merge); err == nil {
			list = within(list, func(_ hints.Kind, p hints.Place) bool { return slices.Contains(r.Changes, p.File) })
		}
	}
	if err != nil {
		list = append(list, hints.Hint{Kind: "not-read", Mark: true, Word: "not read",
			Text: "Its changes cannot be read: " + texts.OneLine(err.Error())})
	}
	list = append(list, q.proven(ctx, r.Merge)...)
	list = addHint(list, "not-owned", true, "not its files", "The author may not write these files (owns).", r.Outside)
	list = addHint(list, "protected", true, "protected", "These files are protected.", r.Protected)
	if judged && !same && r.Tree != "" {
		list = append(list, hints.Hint{Kind: "other-files-judged", Mark: true, Word: "other files judged",
			Text: "The last gates agreed to other files than those that would be merged."})
	}
	for _, b := range r.Brings {
		text := "The merge brings " + b.Authored() + ", too, which is " + string(b.State)
		found, _ := q.ownHints(ctx, b.Merge) // if it cannot be read, nor can this work
		// What the later work has not mended.
		marks := hints.Words(within(found, func(kind hints.Kind, p hints.Place) bool {
			return slices.Contains(r.Changes, p.File) && (kind == "beyond-task" ||
				slices.ContainsFunc(all, func(h hints.Hint) bool { return h.Kind == kind && h.Is(p.File) }))
		}))
		if len(marks) == 0 && b.State != tasks.MergeReturned && q.buildsOnMarked(ctx, b.Merge, r) {
			marks = []string{"brings other work"} // a person has to decide about that piece, too
		}
		if len(marks) > 0 {
			text += " and marked: " + strings.Join(marks, ", ")
		}
		list = addHint(list, hints.Brings, len(marks) > 0, "brings other work", text+".", b.Changes)
	}
	hints.Sort(list)
	return list, size
}

// buildsOnMarked reports whether a piece of work that the merge of r brings has in it another of these which has marks, and which
// r does not revise.
func (q *Queue) buildsOnMarked(ctx context.Context, m tasks.Merge, r api.Review) bool {
	return slices.ContainsFunc(r.Brings, func(o api.Brought) bool {
		found, _ := q.ownHints(ctx, o.Merge)
		if o.ID == m.ID || len(hints.Words(found)) == 0 || view.Repaired(o.Merge, r.Merge, others(r.Brings)) {
			return false
		}
		brings, err := q.Repo.Holds(ctx, m.Commit, o.Commit)
		return brings && err == nil
	})
}

// within returns the hints that have places of a kind, or that are about no place, with these places alone.
func within(list []hints.Hint, holds func(hints.Kind, hints.Place) bool) []hints.Hint {
	var kept []hints.Hint
	for _, h := range list {
		had := len(h.Places)
		h.Places = slices.DeleteFunc(slices.Clone(h.Places), func(p hints.Place) bool { return !holds(h.Kind, p) })
		if len(h.Places) > 0 || had == 0 {
			kept = append(kept, h)
		}
	}
	return kept
}

// ownHints returns what is found in the changes that a piece of work has made itself, which others may have built on.
func (q *Queue) ownHints(ctx context.Context, m tasks.Merge) ([]hints.Hint, error) {
	key := ownWork{q.Team(), m.From, m.Commit, q.taskText(ctx, m)}
	if list, known := q.hinted.Load(key); known {
		return list.([]hints.Hint), nil
	}
	text, err := q.Repo.Diff(ctx, m.From, m.Commit, worktree.DiffOptions{Small: true})
	if err != nil {
		return nil, err
	}
	list, _ := q.hintsIn(Diff{Prefix: q.Repo.Prefix, Text: string(text)}, key.task)
	q.hinted.Store(key, list)
	return list, nil
}

// taskText returns what the author of a piece of work was asked for.
func (q *Queue) taskText(ctx context.Context, m tasks.Merge) string {
	var text string
	for _, id := range m.Tasks {
		if t, err := q.Store.Task(ctx, id); err == nil {
			text += " " + t.Subject + " " + t.Description
		}
	}
	return text
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
			if !slices.Contains(kinds, string(h.Kind)) && h.Kind != "too-large" && h.Kind != "not-read" && (h.Kind != hints.NotTried || !byTrial(kinds)) {
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
