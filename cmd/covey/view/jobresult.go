package view

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// ResultVersion is the version of the JSON of a JobResult: fields may be added, none is renamed
// within a version. docs/ci-result.schema.json describes it.
const ResultVersion = 1

// JobStatus describes in a word how a run ended; there is one for each exit code.
type JobStatus string

// The statuses.
const (
	JobDone       JobStatus = "done"
	JobUnfinished JobStatus = "unfinished"
	JobLimit      JobStatus = "limit"
	JobCancelled  JobStatus = "cancelled"
	JobFailed     JobStatus = "failed" // covey itself could not go on; the reason is an error
)

// Job is a run of a team in a CI job that is over.
type Job struct {
	Team    string
	Covey   string // its version
	Commit  string // the commit whose spec is trusted; empty: the spec itself is
	Began   time.Time
	Elapsed time.Duration
	Code    int // with which covey ends
	// Ending is how the run ended. It counts only if Failed is nil.
	Ending orchestrator.Ending
	Failed error
	State  *view.State // of this run
	// Place has the journal with the whole texts of which State has a line.
	Place state.Place
}

// JobResult is what other programs get to know of a Job: the file result.json. Everything in it
// comes from the Ending and from the fold of the journal, so its texts are cut to one line, except
// what gates have said.
type JobResult struct {
	Version  int       `json:"version" jsonschema:"version of this format; fields may be added to it"`
	Covey    string    `json:"covey" jsonschema:"version of covey"`
	Team     string    `json:"team"`
	Status   JobStatus `json:"status" jsonschema:"done, unfinished, limit, cancelled or failed"`
	ExitCode int       `json:"exit_code"`
	Reason   string    `json:"reason" jsonschema:"why the run ended, for people"`
	Answer   string    `json:"answer,omitempty" jsonschema:"the lead's last answer, whole"`
	Goal     string    `json:"goal"`
	// TrustedCommit is absent if the spec itself was trusted.
	TrustedCommit string             `json:"trusted_commit,omitempty" jsonschema:"the commit that decided what may run"`
	Began         time.Time          `json:"began"`
	Seconds       float64            `json:"seconds"`
	Tasks         []TaskResult       `json:"tasks"`
	Work          api.WorkCounts     `json:"work" jsonschema:"tasks with changes to merge, how many are merged, and how often work was sent back"`
	Gates         []GateResult       `json:"gates" jsonschema:"the last verdict of each gate on each task, merge or member"`
	Members       []MemberResult     `json:"members"`
	Budget        []events.BudgetUse `json:"budget"`
	Problems      []string           `json:"problems" jsonschema:"what needs a person"`
	Unmerged      []string           `json:"unmerged" jsonschema:"finished work that is in no branch of yours"`
	Moved         []string           `json:"moved" jsonschema:"what has changed in target branches and your checkout without the merge queue"`
}

// TaskResult is what became of a task.
type TaskResult struct {
	ID       string  `json:"id"`
	Subject  string  `json:"subject"`
	Status   string  `json:"status" jsonschema:"pending, in_progress or completed"`
	Owner    string  `json:"owner"`
	Refusals int     `json:"refusals" jsonschema:"how often its completion was refused"`
	SentBack int     `json:"sent_back,omitempty" jsonschema:"how often its finished work was sent back"`
	Why      string  `json:"why,omitempty" jsonschema:"why it was refused last, if it is not completed; the end of it, if it is long"`
	CostUSD  float64 `json:"cost_usd" jsonschema:"the known part"`
	// Hints are facts about its work, which a reviewer should look at first.
	Hints []hints.Hint `json:"hints,omitempty" jsonschema:"what a reviewer should look at first, marks first"`
}

// GateResult is the last verdict of one hook of a turn end on its subject. Earlier refusals are
// how gates work, so they only count.
type GateResult struct {
	Event    string `json:"event"`
	Command  string `json:"command" jsonschema:"the command or policy"`
	Task     string `json:"task,omitempty"`
	Merge    string `json:"merge,omitempty"`
	Member   string `json:"member,omitempty"`
	Verdict  string `json:"verdict" jsonschema:"agreed, refused, awaits, halted, cut or judging"`
	Refusals int    `json:"refusals"`
	Reason   string `json:"reason,omitempty" jsonschema:"what it said last, unless it agreed; the end of it, if it is long"`
	Millis   int64  `json:"duration_ms" jsonschema:"of all its runs"`
}

// MemberResult is what one member did.
type MemberResult struct {
	Name     string   `json:"name"`
	Agent    string   `json:"agent"`
	State    string   `json:"state"`
	Turns    int      `json:"turns"`
	Tokens   int64    `json:"tokens"`
	Unknown  bool     `json:"tokens_unknown,omitempty" jsonschema:"tokens is a lower bound"`
	CostUSD  float64  `json:"cost_usd"`
	Tasks    []string `json:"completed" jsonschema:"ids of the tasks that it completed"`
	Refusals int      `json:"refusals"`
	Denied   int      `json:"denied_calls" jsonschema:"tool calls that did not run because nobody could be asked"`
}

// Result sums up a job. mask replaces secrets in all of its texts.
func (j Job) Result(mask func(string) string) JobResult {
	e := j.Ending
	r := JobResult{
		Version: ResultVersion, Covey: j.Covey, Team: j.Team, Status: j.status(), ExitCode: j.Code, Reason: e.Reason,
		Answer: e.Answer, Goal: j.State.Run().Goal, TrustedCommit: j.Commit, Began: j.Began.UTC(),
		Seconds: j.Elapsed.Seconds(), Tasks: j.taskResults(), Gates: j.gateResults(), Work: e.Work,
		Members: []MemberResult{}, Budget: append([]events.BudgetUse{}, e.Budget...),
		Problems: append([]string{}, e.Problems...), Unmerged: append([]string{}, e.Unmerged...),
		Moved: append([]string{}, e.Moved...),
	}
	if j.Failed != nil {
		r.Reason = j.Failed.Error()
	}
	for _, m := range e.Members {
		denied := 0
		if known := j.State.Member(m.Name); known != nil {
			denied = known.Done.DeniedCalls
		}
		r.Members = append(r.Members, MemberResult{
			Name: m.Name, Agent: m.Agent, State: string(m.State), Turns: m.Turns, Tokens: m.Tokens,
			Unknown: m.TokensUnknown, CostUSD: m.CostUSD, Tasks: append([]string{}, m.Completed...), Refusals: m.Refusals,
			Denied: denied,
		})
	}
	texts.MaskAll(&r, mask)
	return r
}

// Save writes result.json and junit.xml into a folder. Each file is replaced in one step, so who
// reads one while a job is cancelled has a whole file or none.
func (r JobResult) Save(dir string) error {
	var text bytes.Buffer
	err := (&term.Screen{Writer: &text}).JSON(r)
	if err == nil {
		err = state.WriteAtomic(filepath.Join(dir, "result.json"), text.Bytes())
	}
	junit, failed := r.JUnit()
	if failed == nil {
		failed = state.WriteAtomic(filepath.Join(dir, "junit.xml"), junit)
	}
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("write the results of the job: %w", err)
	}
	return nil
}

// status returns the word for how the job ended.
func (j Job) status() JobStatus {
	if j.Failed != nil {
		return JobFailed
	}
	switch j.Ending.Code {
	case orchestrator.CodeDone:
		return JobDone
	case orchestrator.CodeLimit:
		return JobLimit
	case orchestrator.CodeInterrupted:
		return JobCancelled
	}
	return JobUnfinished
}

// maxReason bounds in bytes what a gate said.
const maxReason = 16 << 10

// taskResults lists the tasks that are not deleted.
func (j Job) taskResults() []TaskResult {
	list, works := []TaskResult{}, j.State.Works()
	for _, t := range j.State.Tasks {
		if t.Deleted {
			continue
		}
		one := TaskResult{
			ID: t.ID, Subject: t.Subject, Status: string(t.Status), Owner: t.Owner, Refusals: t.Refusals, SentBack: t.SentBack,
			CostUSD: t.Spent.CostUSD, Hints: works.Hints(j.State, t),
		}
		if n := len(t.Returns); n > 0 && t.Status != tasks.Completed {
			last := t.Returns[n-1]
			one.Why = bounded(endOf(feedbackOf(j.Place, "TaskCompleted", last.Seq, last.Reason), maxReason))
		}
		list = append(list, one)
	}
	return list
}

// gateResults sums up the runs of each gate. The verdict of its last run counts; a hook that only
// observes decides nothing and is left out.
func (j Job) gateResults() []GateResult {
	type name struct{ event, command, task, merge, member string }
	list, at := []GateResult{}, map[name]int{}
	var ends []func() string // what each said last
	for _, g := range j.State.Gates {
		for _, h := range g.Hooks {
			if h.Observed != "" {
				continue
			}
			key := name{event: g.Event, command: h.Command, task: g.Task, merge: g.Merge}
			if g.Task == "" && g.Merge == "" {
				key.member = g.Member
			}
			i, known := at[key]
			if !known {
				i = len(list)
				at[key] = i
				list = append(list, GateResult{Event: g.Event, Command: h.Command, Task: g.Task, Merge: g.Merge})
				ends = append(ends, nil)
			}
			list[i].count(g, h)
			ends[i] = func() string { return j.reason(g, h) }
		}
	}
	for i := range list {
		if list[i].Verdict != string(view.Agreed) {
			list[i].Reason = ends[i]()
		}
	}
	return list
}

// reason returns what a hook said that did not agree. A policy has no output, but feedback.
func (j Job) reason(g *view.Gate, h view.HookRun) string {
	if h.Verdict() == view.Refused && h.Output != "" {
		return bounded(OutputOf(j.Place, h, maxReason))
	}
	return bounded(endOf(feedbackOf(j.Place, g.Event, g.Last, g.Reason), maxReason))
}

// bounded marks a text that has lost its beginning.
func bounded(text string, isCut bool) string {
	if isCut {
		return "…" + text
	}
	return text
}

// count adds one run of the gate's hook. Which hook has halted a turn is not known, so all that
// ran with it have.
func (r *GateResult) count(g *view.Gate, h view.HookRun) {
	verdict := h.Verdict()
	if verdict == view.Agreed && g.Verdict == view.Halted {
		verdict = view.Halted
	}
	r.Member = g.Member
	r.Verdict, r.Millis = string(verdict), r.Millis+h.DurationMS
	if verdict == view.Refused {
		r.Refusals++
	}
}
