package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Exit codes of a run. docs/operating.md has them for users.
const (
	CodeDone        = 0   // all work is done
	CodeUnfinished  = 1   // deadlock, a member that needs attention, or told to stop
	CodeLimit       = 3   // a limit ended it
	CodeInterrupted = 130 // a signal ended it
)

// Ending is how a run of a team ended.
type Ending struct {
	Reason      string // for people
	Code        int    // one of the Code constants
	Answer      string // the lead's last answer
	Resumed     bool   // there was an earlier run
	AlreadyDone bool   // the team was done before and nothing was new
	Elapsed     time.Duration
	Members     []MemberEnding // the lead first, and those that have left the team last
	Tasks       map[tasks.Status]int
	Work        api.WorkCounts
	FailedOpen  int      // hooks that failed open
	Problems    []string // for people: members that need attention, …
	Merged      []string // for people: what was merged into which branch, and as which commit
	// Moved is for people what has changed in the target branches and the operator's checkout
	// without the merge queue.
	Moved []string
	// Unmerged is finished work that is in none of the user's branches: `covey review`
	// shows it.
	Unmerged []string
	Budget   []events.BudgetUse // use of the team's budget over all runs
	// Coordination is what the lead has spent on notices in this run.
	Coordination events.Coordination
	// Turns counts the turns of this run by result.
	Turns events.TurnCount
	// Full means that the run met a full disk, and what to do; Reason may only be a
	// consequence. nil: it did not, or all work is done.
	Full error

	fault Fault // of an ending with CodeUnfinished
}

// MemberEnding is what one member did in a run.
type MemberEnding struct {
	Name      string
	Agent     string
	Turns     int
	Passes    int
	Completed []string // ids of the tasks that it completed
	Refusals  int      // refusals by hooks
	Tokens    int64
	// FailedTokens is the part of Tokens that went into requests which failed.
	FailedTokens int64
	// TokensUnknown means that its agent program did not report everything that it used;
	// Tokens is what it reported.
	TokensUnknown bool
	CostUSD       float64            // of this run, in US dollars; 0 if unknown
	Limits        []events.BudgetUse // use of its own limits over all runs
	State         api.MemberState
	Reason        string // why it needs attention or has ended early
}

// counts returns the number of tasks by status, as in the journal.
func (e Ending) counts() map[string]int {
	counts := map[string]int{}
	for status, n := range e.Tasks {
		counts[string(status)] = n
	}
	return counts
}

// open returns how many tasks are not completed.
func (e Ending) open() int { return e.Tasks[tasks.Pending] + e.Tasks[tasks.InProgress] }

// endCause is why a crew came to rest: by itself, or with an error.
type endCause struct {
	end   plan.Move
	err   error
	lacks string // why it is not done, though nothing is left to do; empty: it is
}

// ending sums up a run.
//
// It is called once, after the crew has ended, and before the working copies, the bus and
// the journal are closed. The code depends on several facts, in this order: the list is not
// done or a member has a problem (1), a limit is the reason (3), nothing was changed (1).
// ctx may have ended, so what is stored here is stored without it.
func (t *team) ending(ctx context.Context, rest endCause, before previousRun) (Ending, error) {
	end, err := rest.end, rest.err
	e := Ending{Resumed: before.resumed, Elapsed: time.Since(t.started), Tasks: map[tasks.Status]int{}}
	all, listErr := t.Store.List(context.WithoutCancel(ctx))
	if listErr != nil {
		return e, errors.Join(err, listErr)
	}
	for _, t := range all {
		e.Tasks[t.Status]++
	}
	// Tasks and members are consistent, because no member works any more, and once the
	// crew has seen all events of the store: the tally counts tasks by them.
	t.Journal.CatchUp(context.WithoutCancel(ctx))
	limited := t.sumUp(&e)
	e.Problems = append(e.Problems, t.Asks.Unlimited()...)
	if timeErr := t.Ledger.KeepTime(context.WithoutCancel(ctx)); timeErr != nil {
		return e, errors.Join(err, timeErr) // or the next run would have more time than its budget
	}
	unmerged, stuck := t.Merges.Unmerged(context.WithoutCancel(ctx))
	e.Unmerged, e.Problems = unmerged, append(e.Problems, stuck...)
	e.Merged, e.Moved = t.Merges.Landed(context.WithoutCancel(ctx)), t.Merges.Moved()
	switch {
	case end.Kind == plan.Finish:
		e.Reason, e.Code, e.fault = end.Reason, CodeDone, FaultStuck
		// A team is not done if a member could not continue, because mail may have asked
		// it for more than its tasks.
		if !end.Done || len(e.Problems) > 0 {
			e.Code = CodeUnfinished
		}
		if e.Code != CodeDone && (limited || end.Limit) {
			e.Code = CodeLimit
		}
		if end.Done && len(e.Problems) > 0 {
			e.Reason, e.fault = strings.Join(e.Problems, "; "), FaultAttention
		}
		if e.Code == CodeDone && rest.lacks != "" {
			e.Reason, e.Code, e.fault = rest.lacks, CodeUnfinished, FaultNoResult
		}
	case errors.Is(err, errToldToStop):
		e.Reason, e.Code, e.fault = err.Error(), CodeUnfinished, FaultStopped
	case ctx.Err() != nil:
		e.Reason, e.Code = "interrupted", CodeInterrupted
	default:
		return e, err
	}
	// A run that only merges has begun no session and taken no turn, so it has nothing to
	// say about the goal.
	if t.only.Merge != nil {
		return e, nil // the record of the last full run stays
	}
	// The goal is forgotten, so that the same goal counts as a new one in the next run.
	// With the goal kept, the next run would find nothing new and end at once as done.
	if e.fault == FaultNoResult || e.fault == FaultAttention && len(all) == 0 {
		if err := t.goals.Drop(context.WithoutCancel(ctx)); err != nil {
			return e, err
		}
	}
	// A reported answer takes precedence over the lead's last text.
	said, err := t.goals.Answered(context.WithoutCancel(ctx))
	if err != nil {
		return e, err
	}
	e.Answer = cmp.Or(said, e.Answer)
	// Only a team that is done leaves a record, which the next run checks; all others
	// continue where they stopped. The record is written even if ctx has ended.
	var record *endRecord
	if e.Code == CodeDone && !t.only.Setup {
		record = &endRecord{Reason: e.Reason, Answer: e.Answer}
	}
	return e, t.Store.Put(context.WithoutCancel(ctx), keyEnded, texts.Encode(record))
}

// sumUp sets what the State has of the run and its members. It reports whether a usage limit holds one
// of those that need attention.
func (t *team) sumUp(e *Ending) (limited bool) {
	t.State.Read(func(s *view.State) {
		e.Coordination, e.Turns, e.Work = s.Noticed(), s.Run().Turns, s.WorkCounts()
		e.Budget, e.FailedOpen = s.BudgetAt(time.Now()), s.Hooks().FailedOpen()
		for _, m := range s.Members {
			if m.Lead {
				e.Answer = m.Said
			}
			if !m.Left || m.Done.Turns > 0 {
				end := endingOf(m, t.Clock.Now())
				e.Members, limited = append(e.Members, end), limited || end.State == api.NeedsAttention && m.AtLimit
			}
		}
	})
	for i, m := range e.Members {
		s, ok := t.Seats.Of(m.Name)
		if !ok {
			continue
		}
		e.Members[i].Agent = members.AgentTitle(s.Member.CurrentAgent())
		// A usage limit that delayed no work is no problem.
		if m.Reason != "" && (m.State != api.Limited || e.open() > 0) {
			e.Problems = append(e.Problems, fmt.Sprintf("%s: %s", m.Name, m.Reason))
		}
	}
	return limited
}

// endingOf returns what a member did, and how it ended.
func endingOf(m *view.Member, now time.Time) MemberEnding {
	state, reason := m.Ending(now)
	return MemberEnding{
		Name: m.Name, Agent: m.Agent, Turns: m.Done.Turns, Passes: m.Done.Passes, Completed: m.Done.Completed,
		Refusals: m.Done.Refusals, Tokens: m.Done.Tokens, FailedTokens: m.Done.FailedTokens,
		TokensUnknown: m.Done.TokensUnknown, CostUSD: m.Done.CostUSD, Limits: m.Limits, State: state, Reason: reason,
	}
}

// alreadyDone returns the ending of a team that had nothing to do. It lists no members,
// because none was hired.
func (t *team) alreadyDone(ctx context.Context, before previousRun) (Ending, error) {
	e := Ending{
		Reason: "all work was done before; nothing is new", Answer: before.answer,
		Resumed: true, AlreadyDone: true, Elapsed: time.Since(t.started), Tasks: map[tasks.Status]int{},
	}
	all, err := t.Store.List(ctx)
	for _, t := range all {
		e.Tasks[t.Status]++
	}
	return e, err
}

// markRunning writes run.json for a run that begins.
func (t *team) markRunning(goal string) error {
	r := state.NewRunFile(t.o.place, t.started, api.Protocol)
	r.Spec, r.Members = t.o.team().File, t.o.memberNames()
	r.Goal, r.Version = goal, t.o.opts.Version
	if t.only.Merge != nil {
		if was, err := state.ReadRunFile(t.o.place); err == nil {
			was = was.LastRun()
			r.Before = &was
		}
	}
	return t.o.record.Write(t.o.place, r)
}

// markEnded writes the result into run.json. A failed run has its error there in place of
// an ending.
func (t *team) markEnded(e Ending, failed error) error {
	r, written := t.o.record.Current()
	// A run that only merges must not replace the result of the run that did the work,
	// which covey ps and covey report show. It has put that record aside in r.Before.
	if t.only.Merge != nil && (!written || r.Before != nil) {
		if !written {
			return nil
		}
		return t.o.record.Write(t.o.place, *r.Before) // keeps the record of the last run
	}
	if !written { // a team that was done already was never marked as running
		var err error
		if r, err = state.ReadRunFile(t.o.place); err == nil {
			written = true
		}
	}
	if !written {
		r = state.NewRunFile(t.o.place, t.started, api.Protocol)
		r.Spec, r.Members = t.o.team().File, t.o.memberNames()
	}
	r.Result = &state.RunResult{Reason: e.Reason, ExitCode: e.Code, Ended: time.Now(), Answer: e.Answer, Unmerged: e.Unmerged}
	if e.Full != nil {
		r.Result.Reason += "; " + e.Full.Error()
	}
	if failed != nil {
		r.Result.Reason, r.Result.ExitCode = failed.Error(), CodeUnfinished
	}
	return t.o.record.Write(t.o.place, r)
}
