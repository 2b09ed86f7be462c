package pages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Bounds of what is read for a report. How much of it is shown depends on its size; see limits.
const (
	maxDiff   = 64 << 10 // bytes of the differences of one task
	maxDiffs  = 8 << 20  // of all
	maxOutput = 4 << 10  // bytes of what one gate has printed
	maxRuns   = 1000     // gates whose output is read
	keptGates = 12       // of a task, the newest
)

// report is what a report is made of. Its texts are masked.
type report struct {
	State   *view.State
	Now     *api.Status // of the running team; nil: it does not run
	Made    time.Time
	Version string
	Notes   []string            // what a reader must know before the rest
	Diffs   map[string]diffText // by the id of the merge
	Outputs map[uint64]string   // of hooks, by the number of their line
	Denied  []denial            // calls that did not run

	team *configs.Team // nil: its spec cannot be read
}

// denial is a call that did not run, because a rule, a hook or the lack of an answer denied it.
type denial struct {
	Seq               uint64
	Member, Call, Why string
}

// maxDenied is how many denials a report keeps, the newest.
const maxDenied = 200

// deny notes a line about a call that did not run. A member in plan mode is told to plan without such calls.
func (r *report) deny(e events.Event) {
	p, ok := e.Data.(events.PermissionDecided)
	if !ok || p.Decision != "deny" || p.Mode == "plan" {
		return
	}
	why := map[string]string{"rule": "the rule " + p.Rule, "hook": "a PreToolUse hook", "mode": "the mode " + p.Mode}[p.By]
	if why == "" {
		why = "nobody who could be asked"
	}
	r.Denied = append(r.Denied, denial{e.Seq, e.Member, strings.TrimSuffix(p.Tool+": "+p.Call, ": "), why})
	r.Denied = r.Denied[max(0, len(r.Denied)-maxDenied):]
}

// diffText is what a piece of work has changed.
type diffText struct {
	merging.Diff
	Cut   bool   // Text is not all
	Fault string // why there is no text
}

// readReport reads a team, which need not run, and with its work what that has changed and what gates have
// printed. It changes nothing.
func readReport(ctx context.Context, env *cli.Env, place state.Place, work bool) (*report, error) {
	r := &report{
		Made: time.Now(), Version: env.Version, Diffs: map[string]diffText{}, Outputs: map[uint64]string{},
	}
	var err error
	if r.State, err = r.fold(place); err != nil {
		return nil, err
	}
	r.Now, err = statusOf(ctx, place)
	if err != nil {
		r.addNote("The team runs, but does not answer: %v", err)
	}
	if r.team, err = env.TeamOf(place); err != nil {
		r.team = nil
		r.addNote("The spec cannot be read, so values of its key files are not masked, and no changes are shown: %v",
			err)
	}
	if work {
		r.readOutputs(place)
	}
	if work && r.team != nil {
		r.readDiffs(ctx, place)
	}
	r.mask(launch.Secrets(r.team, os.Environ()))
	r.describe()
	return r, nil
}

// statusOf asks the running team; nil if it does not run.
func statusOf(ctx context.Context, place state.Place) (*api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	return cli.Ask(ctx, place, func(c *api.Client, ctx context.Context) (*api.Status, error) {
		now, err := c.Status(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask for its status: %w", err)
		}
		return &now, nil
	}, func() (*api.Status, error) { return nil, nil })
}

// addNote adds what a reader must know.
func (r *report) addNote(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// fold folds the journal. Damaged lines are left out.
func (r *report) fold(place state.Place) (*view.State, error) {
	var s view.State
	damaged, first := 0, error(nil)
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		var line *state.LineError
		switch {
		case err == nil:
			e := l.Brief()
			s.Apply(e)
			r.deny(e)
		case errors.As(err, &line):
			if damaged++; damaged == 1 {
				first = err
			}
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("team %s has never run, so there is nothing to report; covey up starts it",
				place.Team)
		default:
			return nil, fmt.Errorf("fold the journal: %w", err)
		}
	}
	switch {
	case s.Seq == 0 && damaged > 0:
		return nil, fmt.Errorf("no line of the journal can be read, so there is nothing to report: %w", first)
	case s.Seq == 0:
		return nil, fmt.Errorf("team %s has written nothing yet, so there is nothing to report", place.Team)
	case damaged > 0:
		r.addNote("%d lines of the journal are damaged and missing here; the first: %v", damaged, first)
	}
	return &s, nil
}

// readOutputs reads what gates have printed that did not agree, and for each task the last one.
func (r *report) readOutputs(place state.Place) {
	works := r.State.Works()
	for _, t := range r.State.Tasks {
		gates := works.Gates[t.ID]
		gates = gates[max(0, len(gates)-keptGates):]
		for i, g := range gates {
			if i < len(gates)-1 && g.Verdict == view.Agreed {
				continue
			}
			for _, h := range g.Hooks {
				if h.Seq > 0 && h.Output != "" && len(r.Outputs) < maxRuns {
					text, cut := termview.OutputOf(place, h, maxOutput)
					if cut {
						text = "…" + text
					}
					r.Outputs[h.Seq] = text
				}
			}
		}
	}
}

// readDiffs reads what finished work has changed. A repository that cannot tell is no reason to
// report nothing.
func (r *report) readDiffs(ctx context.Context, place state.Place) {
	room := maxDiffs
	var work []tasks.Merge
	for _, m := range r.State.Merges {
		if len(m.Tasks) > 0 && m.Commit != "" {
			work = append(work, m.Merge)
		}
	}
	for m, read := range merging.ReadDiffs(ctx, place, r.team, work) {
		one := diffText{Diff: read.Diff}
		if read.Err != nil {
			one.Fault = read.Err.Error()
		}
		one.Text, one.Cut = firstLines(one.Text, min(maxDiff, room))
		room -= len(one.Text)
		r.Diffs[m.ID] = one
	}
}

// firstLines returns the whole lines in the first most bytes of a text, and whether more follow.
func firstLines(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	return text[:strings.LastIndexByte(text[:most+1], '\n')+1], true
}

// mask replaces secrets in all texts.
func (r *report) mask(secrets []string) {
	known := map[string]string{} // names and states occur often
	texts.MaskAll(r, func(text string) string {
		if len(text) < texts.MinSecret {
			return text
		}
		masked, ok := known[text]
		if !ok {
			masked = texts.Mask(text, secrets)
			if len(text) < 1<<10 {
				known[text] = masked
			}
		}
		return masked
	})
}

// describe notes what the numbers of the report do not say by themselves.
func (r *report) describe() {
	s := r.State
	staffed := 0
	for _, run := range s.Runs {
		if run.Staffed {
			staffed++
		}
	}
	if r.Now != nil {
		r.addNote("The team is running: this is its state at line %d of the journal.", s.Seq)
	}
	if run := s.Run(); staffed == 0 && run.Merge != "" {
		r.addNote("No member has run: covey merge has merged %s.", run.Merge)
	}
	if staffed > 1 {
		r.addNote("Turns and refusals are those of the last of %d runs; tasks, tokens and cost those of all.", staffed)
	}
	if s.First > 1 {
		r.addNote("The journal begins at line %d; what came before is not known.", s.First)
	}
	for _, d := range []struct {
		n    int
		what string
	}{
		{s.Dropped.Turns, "turns"}, {s.Dropped.Gates, "runs of gates"}, {s.Dropped.Mail, "messages"},
		{s.Dropped.Requests, "answered questions"}, {s.Dropped.Merges, "finished merges"},
	} {
		if d.n > 0 {
			r.addNote("The oldest %d %s are not shown; covey logs has them.", d.n, d.what)
		}
	}
}
