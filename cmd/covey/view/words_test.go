package view

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// said is what a function of words.go says.
type said struct {
	word  string
	style term.Style
}

// TestTeamWord: the state of a team that runs, and of one that does not.
func TestTeamWord(t *testing.T) {
	started := teamtest.Line(1, "", "team_started", `{"members":["lead","ana"]}`)
	for name, test := range map[string]struct {
		runs  bool
		lines []events.Line
		want  said
	}{
		"never ran": {false, nil, said{"has never run", term.Faint}},
		"idle":      {true, []events.Line{started}, said{"idle", term.Faint}},
		"at work": {true, []events.Line{started, teamtest.Line(2, "ana", "turn_started", `{"cause":"task"}`)},
			said{"1 member of 2 at work", term.Green}},
		"needs somebody": {true, []events.Line{started, teamtest.Line(2, "ana", "needs_attention", `{"reason":"no"}`)},
			said{"needs you", term.Yellow}},
		"waits": {true, []events.Line{started, teamtest.Line(2, "", "team_waits", `{"until":"2026-11-21T13:00:00Z","members":["ana"]}`)},
			said{"waits for the end of a usage limit", term.Yellow}},
		"killed": {false, []events.Line{started}, said{"does not run: it was cut off; covey up goes on", term.Red}},
		"done": {false, []events.Line{started, teamtest.Line(2, "", "team_ended", `{"reason":"all work is done","exit_code":0}`)},
			said{"done: all work is done", term.Green}},
		"merged": {false, []events.Line{teamtest.Line(1, "", "team_started", `{"merge":"task 1"}`),
			teamtest.Line(2, "", "team_ended", `{"merge":"task 1","reason":"0 of 1 merged, 1 sent back","exit_code":0}`)},
			said{"merge ended: 0 of 1 merged, 1 sent back", term.Faint}},
		"stopped": {false, []events.Line{started, teamtest.Line(2, "", "team_ended", `{"reason":"told to stop","exit_code":1}`)},
			said{"ended: told to stop", term.Faint}},
		"failed": {false, []events.Line{started, teamtest.Line(2, "", "team_ended", `{"reason":"deadlock","exit_code":1}`)},
			said{"ended: deadlock", term.Red}},
	} {
		var s view.State
		for _, l := range test.lines {
			s.Apply(l.Event())
		}
		if word, style := TeamWord(&s, test.runs); (said{word, style}) != test.want {
			t.Errorf("%s: %q in %q, want %+v", name, word, style, test.want)
		}
	}
}

// TestMemberWord: what needs a person comes before what a member does.
func TestMemberWord(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	for name, test := range map[string]struct {
		member view.Member
		want   said
	}{
		"idle":             {view.Member{State: api.Resting}, said{"idle", term.Faint}},
		"starting":         {view.Member{State: api.Starting}, said{"starting", term.Faint}},
		"working":          {view.Member{State: api.Working}, said{"working", term.Green}},
		"at the gates":     {view.Member{State: api.Working, Gate: "Stop"}, said{"at the gates", term.Yellow}},
		"in trouble":       {view.Member{State: api.NeedsAttention, Attention: "no"}, said{"needs attention", term.Yellow}},
		"not logged in":    {view.Member{State: api.LoggedOut, Attention: "log in"}, said{"logged out", term.Yellow}},
		"held":             {view.Member{State: api.Held, Held: &view.Hold{}}, said{"held", term.Yellow}},
		"limited":          {view.Member{State: api.Limited, Lockout: &view.Lockout{Since: noon, Until: noon.Add(time.Hour), Known: true}}, said{"limited until 13:00", term.Yellow}},
		"limited, a guess": {view.Member{State: api.Limited, Lockout: &view.Lockout{Since: noon, Until: noon.Add(time.Hour)}}, said{"limited", term.Yellow}},
		"limited, somehow": {view.Member{State: api.Limited}, said{"limited", term.Yellow}},
	} {
		if word, style := MemberWord(&test.member); (said{word, style}) != test.want {
			t.Errorf("%s: %q in %q, want %+v", name, word, style, test.want)
		}
	}
}

// TestMemberAtGates: while a gate runs, the member stands at the gates; a hook that has words of its own is
// named by them.
func TestMemberAtGates(t *testing.T) {
	var s view.State
	for i, test := range []struct{ kind, data, word, does string }{
		{"hook_started", `{"event":"Stop","command":"./gate.sh"}`, atGates, "Stop: ./gate.sh"},
		{"hook_started", `{"event":"PreToolUse","command":"./look.sh","status":"Looking closely"}`, atGates, "PreToolUse: Looking closely"},
		{"idle", `{"last_text":"Done."}`, "idle", "Done."},
	} {
		s.Apply(teamtest.Line(i+1, "api", test.kind, test.data).Event())
		m := s.Member("api")
		if word, _ := MemberWord(m); word != test.word || MemberDoes(&s, m, nil) != test.does {
			t.Errorf("after %s it is %q and does %q", test.kind, word, MemberDoes(&s, m, nil))
		}
	}
}

// TestTaskWord: a task is done when its work is merged, if there is something to merge.
func TestTaskWord(t *testing.T) {
	merge := func(s tasks.MergeState) *view.Merge { return &view.Merge{Merge: tasks.Merge{State: s}} }
	for name, test := range map[string]struct {
		status tasks.Status
		awaits string
		merge  *view.Merge
		waits  []string
		want   said
	}{
		"ready":       {tasks.Pending, "", nil, nil, said{"ready", term.Faint}},
		"waits":       {tasks.Pending, "", nil, []string{"1", "2"}, said{"waits for 1, 2", term.Faint}},
		"in progress": {tasks.InProgress, "", nil, nil, said{"in progress", term.Cyan}},
		"judged":      {tasks.InProgress, "ana", nil, nil, said{"awaits ana", term.Yellow}},
		"done":        {tasks.Completed, "", nil, nil, said{"done", term.Green}},
		"held":        {tasks.Completed, "", merge(tasks.MergeHeld), nil, said{"done, held", term.Yellow}},
		"to merge":    {tasks.Completed, "", merge(tasks.MergeWaiting), nil, said{"done, to merge", term.Yellow}},
		"sent back":   {tasks.Completed, "", merge(tasks.MergeReturned), nil, said{"sent back", term.Red}},
		"dropped":     {tasks.Completed, "", merge(tasks.MergeDropped), nil, said{"done", term.Green}},
		"tested":      {tasks.Completed, "", merge(tasks.MergeTesting), nil, said{"done, testing", term.Cyan}},
		"merged":      {tasks.Completed, "", merge(tasks.MergeDone), nil, said{"merged", term.Green}},
	} {
		task := &view.Task{Task: tasks.Task{Status: test.status}, Awaits: test.awaits}
		if word, style := TaskWord(task, test.merge, test.waits); (said{word, style}) != test.want {
			t.Errorf("%s: %q in %q, want %+v", name, word, style, test.want)
		}
	}
}

// TestCountWords: done and merged are two facts, and work that was sent back is counted.
func TestCountWords(t *testing.T) {
	ten := api.TaskCounts{Completed: 10}
	for want, n := range map[string]struct {
		all  api.TaskCounts
		work api.WorkCounts
	}{
		"":                              {},
		"done 10 of 10":                 {all: ten},
		"done 10 of 10, merged 0 of 10": {ten, api.WorkCounts{Tasks: 10}},
		"done 10 of 10, merged 8 of 9, 2 sent back": {ten, api.WorkCounts{Tasks: 9, Merged: 8, SentBack: 2}},
	} {
		if got := strings.Join(CountWords(n.all, n.work), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUnanswered: what becomes of a request that nobody answers, at a time of the clock.
func TestUnanswered(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	for want, r := range map[string]requests.Request{
		"denied 12:10":    {Kind: requests.AskPermission, To: actors.Operator, Deadline: noon.Add(10 * time.Minute)},
		"held 12:10":      {Kind: requests.AskMerge, To: "ben", Deadline: noon.Add(10 * time.Minute)},
		"denied 12:11":    {Kind: requests.AskMerge, To: actors.Operator, Deadline: noon.Add(11 * time.Minute)}, // protected files in a shared folder
		"approved 12:10":  {Kind: requests.AskPermission, Default: true, Deadline: noon.Add(10 * time.Minute)},
		"ended 12:10":     {Kind: requests.AskShutdown, Default: true, Deadline: noon.Add(10 * time.Minute)},
		"cancelled 12:10": {Kind: requests.AskForm, Deadline: noon.Add(10 * time.Minute)},
		"dropped 12:10":   {Kind: requests.AskQuestion, Deadline: noon.Add(10 * time.Minute)},
		" ":               {Kind: requests.AskMerge, To: actors.Operator},
	} {
		if word, at := Unanswered(r.Kind, r.To, r.Default, r.Deadline, noon); word+" "+at != want {
			t.Errorf("%s %s, want %s", word, at, want)
		}
	}
}

// TestWaitsForTask: a member waits for the tasks of others; its own is about to be started, or held
// with it.
func TestWaitsForTask(t *testing.T) {
	task := func(id, owner string, status tasks.Status, blockers ...string) *view.Task {
		return &view.Task{Task: tasks.Task{ID: id, Owner: owner, Status: status, BlockedBy: blockers}}
	}
	for want, list := range map[string][]*view.Task{
		"said":                    {task("1", "ana", tasks.Pending), task("2", "ana", tasks.Pending, "1")},
		"waits for task 1 of ben": {task("1", "ben", tasks.Pending), task("2", "ana", tasks.Pending, "1")},
		"waits for task 1":        {task("1", "", tasks.Pending), task("2", "ana", tasks.Pending, "1")},
		"waits for task 3 of ben": {task("1", "ana", tasks.Pending), task("2", "ana", tasks.Pending, "1", "3"), task("3", "ben", tasks.InProgress)},
		"until covey resume ana":  {task("1", "ben", tasks.Pending), task("2", "ana", tasks.Pending, "1")},
	} {
		s := &view.State{Tasks: list}
		m := &view.Member{Name: "ana", State: api.Resting, Doing: "said"}
		if strings.HasPrefix(want, "until") {
			m.State = api.Held
		}
		if got := MemberDoes(s, m, s.Graph()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNeedWords: each kind of need has a word, and the command with which a person begins.
func TestNeedWords(t *testing.T) {
	for want, n := range map[string]api.Need{
		"plan: covey inbox show r1: x":   {Kind: api.NeedsAnswer, ID: "r1", Asks: requests.AskPlan},
		"to merge: covey merge 3: x":     {Kind: api.NeedsMerge, ID: "1", Member: "ana", Task: "3"},
		"held merge: covey merge ana: x": {Kind: api.NeedsDecision, ID: "1", Member: "ana"},
		"attention: x":                   {Kind: api.NeedsHelp, ID: "ana", Member: "ana"},
	} {
		n.Text = "x"
		if got := NeedWord(n) + ": " + NeedText(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
