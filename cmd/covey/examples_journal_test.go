package main_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// journalLine is a line of the journal, with what these tests look at.
type journalLine struct {
	Seq    uint64
	Member string
	Turn   int
	Type   string
	Data   struct {
		Op   string
		Task journalTask

		ID, Name, Tool, Content string
		Input                   struct{ TaskID, Status, Command string }

		Event, Command, Outcome, Stderr, Path string
		ToolUseID                             string `json:"tool_use_id"`

		From, To, Kind, Text, Reason, Decision, By string
		Turns                                      json.RawMessage
		ExitCode                                   int `json:"exit_code"`
		Level                                      int
		IsError                                    bool `json:"is_error"`
	}
}

// journalTask is the task of a line: as a whole where the line is about it, by
// its id alone where a verdict names it.
type journalTask struct{ ID, Owner, Description string }

func (j *journalTask) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &j.ID)
	}
	type whole journalTask // without this method
	return json.Unmarshal(data, (*whole)(j))
}

// readLines reads what `covey logs --json` printed.
func readLines(t *testing.T, text string) []journalLine {
	t.Helper()
	var lines []journalLine
	for one := range strings.Lines(text) {
		var l journalLine
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatalf("journal: %v in %q", err, one)
		}
		if len(lines) > 0 && l.Seq <= lines[len(lines)-1].Seq {
			t.Fatalf("journal: line %d comes after line %d", l.Seq, lines[len(lines)-1].Seq)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		t.Fatal("the journal is empty")
	}
	return lines
}

// find is the place of the first line from a place on that fits; -1 if there
// is none, or from is -1.
func (e example) find(from int, fits func(journalLine) bool) int {
	if from < 0 {
		return -1
	}
	if i := slices.IndexFunc(e.line[from:], fits); i >= 0 {
		return from + i
	}
	return -1
}

func (e example) count(fits func(journalLine) bool) int {
	n := 0
	for _, l := range e.line {
		if fits(l) {
			n++
		}
	}
	return n
}

// feedback fits a refusal that a member got from an event's hooks at its turn
// end.
func feedback(member, event, text string) func(journalLine) bool {
	return func(l journalLine) bool {
		return l.Type == "hook_feedback" && l.Member == member && l.Data.Event == event &&
			l.Data.Path == "turn_end" && strings.Contains(l.Data.Text, text)
	}
}

func taskOp(op, id string) func(journalLine) bool {
	return func(l journalLine) bool { return l.Type == "task" && l.Data.Op == op && l.Data.Task.ID == id }
}

// mail fits a message between members.
func mail(from, to string) func(journalLine) bool {
	return func(l journalLine) bool {
		return l.Type == "message" && l.Data.Kind == "text" && l.Data.From == from && l.Data.To == to
	}
}

// completedBy is who completed a task.
func (e example) completedBy(id string) string {
	if i := e.find(0, taskOp("completed", id)); i >= 0 {
		return e.line[i].Data.Task.Owner
	}
	return "nobody"
}

// callText is the command of a member's tool call.
func (e example) callText(id, member string) string {
	i := e.find(0, func(l journalLine) bool { return l.Type == "tool_call" && l.Member == member && l.Data.ID == id })
	if i < 0 {
		return ""
	}
	return e.line[i].Data.Input.Command
}

// answer is the last text of whoever had the goal.
func (e example) answer() string {
	text := ""
	for _, l := range e.line {
		if l.Type == "text" && l.Member == "lead" {
			text = strings.TrimSpace(l.Data.Text)
		}
	}
	return text
}

// turnEnd is one passage of a member through its gates.
type turnEnd struct {
	runs  []gateRun
	owned int // tasks that the member had in progress then
}

// gateRun is one event of a turn end with all its hooks.
type gateRun struct {
	event, id string
	refusals  int
}

// turnEnds are a member's turn ends in order. What a member had in progress is
// read off its own calls and their results, which stand in the journal in the
// order in which they happened to it, however slow the disk is.
func (e example) turnEnds(member string) []turnEnd {
	var ends []turnEnd
	calls, owned := map[string]journalLine{}, map[string]bool{}
	for _, l := range e.line {
		if l.Member != member {
			continue
		}
		switch l.Type {
		case "tool_call":
			calls[l.Data.ID] = l
		case "tool_result":
			noteOwned(owned, calls[l.Data.ID], l)
			delete(calls, l.Data.ID)
		case "hook_started":
			if len(calls) == 0 && !e.overMCP(member, ends, l) { // else it belongs to a tool call
				ends = noteRun(ends, l, len(owned))
			}
		case "hook_feedback":
			if l.Data.Path == "turn_end" {
				runs := ends[len(ends)-1].runs
				runs[len(runs)-1].refusals++
			}
		}
	}
	return ends
}

// overMCP says whether a gate of a task was run for a call that a member's
// program has made over MCP. The program may tell of the call only later, but it
// makes none while its turn ends, which begins with Stop.
func (e example) overMCP(member string, ends []turnEnd, l journalLine) bool {
	return l.Data.Event == "TaskCompleted" && (len(ends) == 0 || ends[len(ends)-1].over()) &&
		e.find(0, func(l journalLine) bool {
			return l.Member == member && l.Type == "tool_call" &&
				strings.HasPrefix(l.Data.Name, "mcp__covey__")
		}) >= 0
}

// aboutTask finds the task in what a team tool answers over MCP: as text, or as
// JSON.
var aboutTask = regexp.MustCompile(`(?:[Tt]ask #|"id":"|"taskId":")(\d+)`)

// noteOwned takes in what a successful call has made of the member's tasks.
func noteOwned(owned map[string]bool, call, result journalLine) {
	in, said := call.Data.Input, result.Data.Content
	id, status := in.TaskID, in.Status
	switch call.Data.Name {
	case "TaskUpdate":
		if !strings.HasPrefix(said, "Updated task") {
			return
		}
	case "mcp__covey__team_task_claim", "mcp__covey__team_task_update":
		about := aboutTask.FindStringSubmatch(said)
		if result.Data.IsError || about == nil {
			return
		}
		if strings.HasSuffix(call.Data.Name, "update") && !strings.Contains(strings.ToLower(said), "status") {
			return // it changed something else
		}
		id, status = about[1], "in_progress" // not every program tells what it has called a tool with
		if strings.HasSuffix(call.Data.Name, "update") && strings.Contains(said, "completed") {
			status = "completed"
		}
	default:
		return
	}
	switch status {
	case "in_progress":
		owned[id] = true
	case "completed":
		delete(owned, id)
	}
}

// noteRun takes in that a hook of a gate started: in a run that is known, in a
// new one, or in a new turn end.
func noteRun(ends []turnEnd, l journalLine, owned int) []turnEnd {
	event, id := l.Data.Event, l.Data.ToolUseID
	if !slices.Contains([]string{"Stop", "TaskCompleted", "TeammateIdle"}, event) {
		return ends
	}
	if n := len(ends); n > 0 && slices.ContainsFunc(ends[n-1].runs, func(r gateRun) bool { return r.id == id }) {
		return ends
	}
	first := event == "Stop" || len(ends) == 0 || ends[len(ends)-1].over()
	if first {
		ends = append(ends, turnEnd{owned: owned})
	}
	end := &ends[len(ends)-1]
	end.runs = append(end.runs, gateRun{event: event, id: id})
	return ends
}

// over says whether nothing more may come in this turn end.
func (end turnEnd) over() bool {
	last := end.runs[len(end.runs)-1]
	return last.event == "TeammateIdle" || last.event == "Stop" && last.refusals > 0
}

// checkTurnEnds finds that each turn end of each teammate ran its gates in
// order: Stop, TaskCompleted for each task in progress, TeammateIdle, each run
// under a tool-use id of its own. The lead runs Stop alone.
func (e example) checkTurnEnds(t *testing.T) {
	t.Helper()
	seen := map[string]string{}
	for _, l := range e.line {
		if l.Type != "tool_call" {
			continue
		}
		// Agent programs give their calls ids of their own, each for itself.
		call := "a tool call of " + l.Member
		if seen[l.Data.ID] == call {
			t.Errorf("two tool calls of %s have the id %q", l.Member, l.Data.ID)
		}
		seen[l.Data.ID] = call
	}
	stops := e.count(func(l journalLine) bool { return l.Type == "hook_started" && l.Data.Event == "Stop" }) > 0
	for _, member := range e.members() {
		calls := func(l journalLine) bool { return l.Type == "tool_call" && l.Member == member }
		if e.find(0, calls) < 0 {
			continue // a command, which does not tell of its calls, so what it owned is not known
		}
		for n, end := range e.turnEnds(member) {
			got := []string{}
			for _, r := range end.runs {
				got = append(got, r.event)
				if seen[r.id] != "" || r.id == "" {
					t.Errorf("%s: the id %q of %s belongs to %s as well", member, r.id, r.event, seen[r.id])
				}
				seen[r.id] = r.event + " of " + member
			}
			if want := e.wantRuns(member, end, stops); !slices.Equal(got, want) {
				t.Errorf("turn end %d of %s, which owned %d tasks, ran %v, want %v", n+1, member,
					end.owned, got, want)
			}
		}
	}
}

// wantRuns is what a turn end must have run. stops says whether the team has
// Stop hooks at all.
func (e example) wantRuns(member string, end turnEnd, stops bool) []string {
	var want []string
	if stops {
		want = append(want, "Stop")
	}
	if member == "lead" || stops && end.runs[0].refusals > 0 {
		return want
	}
	if e.count(func(l journalLine) bool { return l.Type == "hook_started" && l.Data.Event == "TaskCompleted" }) > 0 {
		want = append(want, slices.Repeat([]string{"TaskCompleted"}, end.owned)...)
	}
	return append(want, "TeammateIdle")
}

// members are all that took turns.
func (e example) members() []string {
	var names []string
	for _, l := range e.line {
		if l.Type == "turn_started" && !slices.Contains(names, l.Member) {
			names = append(names, l.Member)
		}
	}
	return names
}

// told fits a change by which a member wrote a text into a task.
func told(member, id, text string) func(journalLine) bool {
	return func(l journalLine) bool {
		return l.Type == "task" && l.Member == member && l.Data.Task.ID == id &&
			strings.Contains(l.Data.Task.Description, text)
	}
}

// checkTurns finds that no turn was for nothing, whoever was faster: the numbers are those
// that the journal ends with.
func (e example) checkTurns(t *testing.T) {
	t.Helper()
	const most = 1.3 // turns for each completed task
	var n struct {
		Turns, Empty, Completed int
		PerTask                 float64 `json:"per_task"`
	}
	if err := json.Unmarshal(e.line[len(e.line)-1].Data.Turns, &n); err != nil {
		t.Fatalf("team_ended has no turns: %v", err)
	}
	if n.Empty > 0 || n.Completed == 0 || n.PerTask > most {
		t.Errorf("%+v, want no empty turn and at most %v a task", n, most)
	}
	for _, l := range e.line {
		if l.Type == "turn_started" && e.count(func(c journalLine) bool {
			return c.Type == "tool_call" && c.Member == l.Member && c.Turn == l.Turn
		}) == 0 {
			t.Errorf("%s called nothing in its turn %d", l.Member, l.Turn)
		}
	}
}
