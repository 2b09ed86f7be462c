package cases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/teammate/agent"
)

// Result is what became of a case.
type Result struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Name     string    `json:"name"`
	Passed   bool      `json:"passed"`
	Seconds  float64   `json:"seconds"`
	Failures []Failure `json:"failures"`

	seen []decided // for the coverage
}

// Failure is one expectation that was not met.
type Failure struct {
	Line     int      `json:"line"`
	What     string   `json:"what"`
	Expected string   `json:"expected"`
	Seen     string   `json:"seen"`
	Journal  []string `json:"journal"` // the lines that matter
}

// Run runs a case. What the case expects and does not see is in the result, and so is an error of covey. Only
// the end of ctx leaves it without a meaning.
func (p *Prepared) Run(ctx context.Context) (r Result) {
	began := time.Now()
	r = Result{File: p.File.Path, Line: p.Case.at.At.Line, Name: p.Case.Name, Failures: []Failure{}}
	within, cancel := context.WithTimeout(ctx, p.Case.Timeout)
	defer cancel()
	var err error
	if len(p.Case.Calls) > 0 {
		err = p.decide(within, &r)
	}
	if err == nil && p.Case.HasTeam() && within.Err() == nil {
		err = p.play(within, &r)
	}
	switch {
	case within.Err() != nil && len(r.Failures) == 0: // what else has failed is a consequence
		r.Failures = append(r.Failures, p.tooLong(nil))
	case within.Err() == nil && err != nil:
		r.Failures = append(r.Failures, Failure{
			Line: r.Line, What: "the case", Expected: "a run", Seen: "covey could not run it: " + err.Error(), Journal: []string{},
		})
	}
	for i := range r.Failures {
		r.Failures[i].shorten(p.scratch.workspace)
	}
	r.Seconds, r.Passed = time.Since(began).Seconds(), len(r.Failures) == 0
	return r
}

// shorten names files of the workspace by their paths in it.
func (f *Failure) shorten(workspace string) {
	short := strings.NewReplacer(workspace+"/", "", workspace, ".").Replace
	f.What, f.Seen = short(f.What), short(f.Seen)
	for i := range f.Journal {
		f.Journal[i] = short(f.Journal[i])
	}
}

// tooLong is the failure of a case that has reached its time limit.
func (p *Prepared) tooLong(r *record) Failure {
	f := Failure{
		Line: p.Case.at.At.Line, What: "the end of the case", Journal: []string{},
		Expected: fmt.Sprintf("within %v (timeout)", p.Case.Timeout), Seen: "it was stopped: its hooks did not end",
	}
	if r == nil {
		return f
	}
	var busy []string
	for _, m := range r.state.Members {
		if r.busy[m.Name] != "" {
			busy = append(busy, m.Name+" was in its turn "+r.busy[m.Name])
		}
	}
	f.Seen = "it was stopped: the team did not come to rest"
	if len(busy) > 0 {
		f.Seen = "it was stopped: " + strings.Join(busy, "; ")
	}
	f.Journal = r.entries(func(events.Event) bool { return true })
	return f
}

// options returns how the team of the case runs.
func (p *Prepared) options(see func(events.Line)) orchestrator.Options {
	return orchestrator.Options{
		StateHome: p.scratch.state, Version: p.suite.Version, Bin: p.suite.Bin, ManagedFolders: p.suite.Managed, OnLine: see,
		Agents: map[string]orchestrator.AgentMaker{given: func(orchestrator.Brief) (agent.Agent, error) { return silent{}, nil }},
	}
}

// silent is the agent of a member that the case gives no script.
type silent struct{}

// Run says nothing and calls nothing.
func (silent) Run(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
	_, err := h.Pass(ctx)
	return agent.Reply{}, err
}

// decide has the calls of the case decided.
//
// Members share the workspace, so that no working copies are made, and no work is loaded.
func (p *Prepared) decide(ctx context.Context, r *Result) error {
	t := copyOf(p.team)
	share := func(m *configs.Member) { m.Isolation = configs.Shared }
	share(&t.Lead)
	for i := range t.Teammates {
		share(&t.Teammates[i])
	}
	for i := range t.Templates {
		share(&t.Templates[i].Member)
	}
	t.Tasks, t.Worktree, t.Merge = nil, configs.Worktree{}, configs.Merge{Via: t.Merge.Via, Per: t.Merge.Per}
	var calls []orchestrator.MadeCall
	for i, c := range p.Case.Calls {
		member := p.memberOf(c)
		calls = append(calls, orchestrator.MadeCall{
			Member: member, Call: agent.ToolCall{ID: callID(i), Name: c.Tool, Input: slices.Clone(c.Input)},
		})
	}
	rec := newRecord(p.scratch.workspace)
	opts := p.options(rec.add)
	opts.NoTurns = true
	o, err := orchestrator.New(t, opts)
	if err != nil {
		return err
	}
	p.marks = append(p.marks, o.Place().Mark())
	decisions, err := o.Decide(ctx, calls)
	if err != nil {
		return err
	}
	var made []madeCall
	for i, d := range decisions {
		c := p.Case.Calls[i]
		got := rec.call(callID(i), calls[i].Member, calls[i].Call)
		got.denial = d.Denial
		if d.Denial != "" && got.decision == Allow {
			got.decision, got.by = Deny, "before permission was decided"
		}
		switch {
		case d.Wrong: // a wrong case must not pass because it expects a denial
			got.decision, got.by = "nothing", "because the input is wrong"
		case d.NoTool:
			got.by = calls[i].Member + " has no such tool"
		}
		made = append(made, got)
		if f, failed := c.judge(got, rec); failed {
			r.Failures = append(r.Failures, f)
		}
	}
	r.seen = append(r.seen, rec.decided(p, made)...)
	return nil
}

// memberOf returns the member that makes a call.
func (p *Prepared) memberOf(c Call) string {
	for _, name := range []string{c.Member, p.Case.Member} {
		if name != "" {
			return name
		}
	}
	return p.team.Lead.Name
}

// callID returns the id of a call of a table.
func callID(i int) string { return fmt.Sprintf("call-%d", i+1) }

// play runs the team of the case.
func (p *Prepared) play(ctx context.Context, r *Result) error {
	if p.Case.Git || needsGit(p.team) {
		if err := p.scratch.commit(ctx); err != nil {
			return err
		}
	}
	t := copyOf(p.team)
	cast := func(m *configs.Member) {
		i := slices.IndexFunc(p.Case.Members, func(played Played) bool { return played.Member == m.Name })
		switch {
		case i >= 0:
			path, _ := filepath.Abs(p.File.below(p.Case.Members[i].Script)) // it was read before
			m.Agent = configs.Agent{Kind: configs.Builtin, Model: configs.Model{Provider: configs.Script, Script: path}}
			if p.Case.Members[i].isRecorded() {
				m.Agent.Model = configs.RecordedModel(path)
			}
		case m.Agent.Kind != configs.Builtin || m.Agent.Model.Script == "":
			m.Agent = configs.Agent{Name: given, Kind: configs.Given}
		}
	}
	cast(&t.Lead)
	for i := range t.Teammates {
		cast(&t.Teammates[i])
	}
	for i := range t.Templates {
		cast(&t.Templates[i].Member)
	}
	rec := newRecord(p.scratch.workspace)
	opts := p.options(rec.add)
	if opts.Goal = p.Case.Goal; opts.Goal == "" && t.Goal == "" {
		opts.Goal = "Do the work of the case."
	}
	o, err := orchestrator.New(t, opts)
	if err != nil {
		return err
	}
	p.marks = append(p.marks, o.Place().Mark())
	ending, err := o.Run(ctx)
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.Failures = append(r.Failures, p.tooLong(rec))
		}
		return nil
	}
	if err != nil {
		return err
	}
	rec.ending = ending
	for _, s := range p.Case.Expect {
		if f, failed := s.expected(rec); failed {
			r.Failures = append(r.Failures, f)
		}
	}
	for _, s := range p.Case.Never {
		r.Failures = append(r.Failures, s.unwanted(rec)...)
	}
	r.seen = append(r.seen, rec.decided(p, rec.calls())...)
	return nil
}

// record is what was seen in a run.
type record struct {
	lines     []events.Event
	state     view.State
	busy      map[string]string // members in a turn and what they do in it, before the run was stopped
	ending    orchestrator.Ending
	workspace string
}

// newRecord returns the record of a run that begins.
func newRecord(workspace string) *record {
	return &record{busy: map[string]string{}, workspace: workspace}
}

// add adds a line of the journal.
func (r *record) add(l events.Line) {
	e := l.Event()
	r.lines = append(r.lines, e)
	r.state.Apply(e)
	switch d := e.Data.(type) {
	case events.TurnStarted:
		r.busy[e.Member] = fmt.Sprint(e.Turn)
	case events.ToolCalled:
		r.busy[e.Member] = fmt.Sprintf("%d, and called %s last", e.Turn, callText(d.Name, d.Input))
	case events.TurnEnded:
		if d.Reason != events.EndAbortedTools && d.Reason != events.EndAbortedStreaming {
			delete(r.busy, e.Member)
		}
	}
}
