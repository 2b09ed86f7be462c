package view

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestZeroState: a State without lines answers every question.
func TestZeroState(t *testing.T) {
	var s State
	got := words(s.Run().Goal, s.StaffedRun().Turns, s.Member("x"), s.Task("1"), len(s.Graph()), s.TaskCounts().Total(), len(s.Needs()),
		len(s.Statuses()), s.Hooks().FailedOpen(), len(s.GatesOf(func(*Gate) bool { return true })))
	if want := "{0 0 0 0} <nil> <nil> 0 0 0 0 0 0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if text := encoded(t, &s); text != `{"version":0,"team":"","first":0,"seq":0,"time":"0001-01-01T00:00:00Z",`+
		`"coordination":{"tokens":0,"of":0,"notices":0,"estimated":false}}` {
		t.Errorf("its snapshot is %s", text)
	}
}

// TestRefusalOf: the refusals of a task's completion, and no other lines.
func TestRefusalOf(t *testing.T) {
	for text, want := range map[string]string{
		`ana.2 hook_feedback {"event":"TaskCompleted","text":"a\nb","task_id":"1","path":"turn_end"}`:    "1 refused ana 2 a\nb true",
		`ana.2 task {"op":"refused","by":"ana","reason":"no","task":{"id":"1","status":"completed"}}`:    "1 refused ana 2 no true",
		`- task {"op":"refused","by":"operator","reason":"no","task":{"id":"1","status":"in_progress"}}`: "1 refused  0 no true",
		`ana.2 hook_feedback {"event":"Stop","text":"a","path":"turn_end"}`:                              " refused ana 2 a false",
		`ana.2 task {"op":"completed","task":{"id":"1","status":"completed"}}`:                           " refused ana 2  false",
		`ana.2 text {"text":"refused"}`: " refused ana 2  false",
	} {
		task, r, ok := RefusalOf(lineOf(9, text).Event())
		if got := task + " " + words(r.Kind, r.Member, r.Turn, r.Reason, ok); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if r.Seq != 9 || r.Time != noon.Add(9e9) {
			t.Errorf("%s: line %d at %v", text, r.Seq, r.Time)
		}
	}
}

// TestBudgetEnd: a limit ends at the pace of this run, if that can be said.
func TestBudgetEnd(t *testing.T) {
	s := State{
		Time: noon.Add(10 * time.Minute), Runs: []Run{{First: 1, Started: noon.Add(-time.Hour)}, {First: 9, Started: noon}},
		Turns: []*Turn{
			{First: 3, CostUSD: 100}, {First: 10, Usage: agent.Usage{InputTokens: 900, OutputTokens: 100}, CostUSD: 1}, {First: 12},
		},
	}
	for _, test := range []struct {
		use  events.BudgetUse
		want string
	}{
		{events.BudgetUse{What: events.Tokens, Used: 5000, Limit: 8000}, "12:40"},
		{events.BudgetUse{What: events.USD, Used: 101, Limit: 102}, "12:20"},
		{events.BudgetUse{What: events.Time, Used: 4200, Limit: 6000}, "12:40"},
		{events.BudgetUse{What: events.USD, Used: 1, Limit: 1000}, "00:00"}, // more than a day
		{events.BudgetUse{What: events.USD, Used: 2, Limit: 1}, "00:00"},
		{events.BudgetUse{What: events.USD, Used: 2}, "00:00"},
	} {
		if got := s.BudgetEnd(test.use).Format("15:04"); got != test.want {
			t.Errorf("%+v ends at %s, want %s", test.use, got, test.want)
		}
	}
	s.Time = noon.Add(time.Second)
	if got := s.BudgetEnd(events.BudgetUse{What: events.Time, Limit: 60}); !got.IsZero() {
		t.Errorf("a run that has only begun: %v", got)
	}
}

// TestCreates: the line before which a task is not named.
func TestCreates(t *testing.T) {
	const created = `lead task {"op":"created","task":{"id":"1","status":"pending"}}`
	if !Creates(lineOf(1, created).Event(), "1") || Creates(lineOf(1, created).Event(), "2") ||
		Creates(lineOf(1, `lead task {"op":"claimed","task":{"id":"1"}}`).Event(), "1") || Creates(lineOf(1, `lead text {"text":"1"}`).Event(), "1") {
		t.Error("another line creates the task")
	}
}

// TestStopped: a team that does not run is shown as its last run left it.
func TestStopped(t *testing.T) {
	const ended = "\n- team_ended {\"reason\":\"told to\",\"exit_code\":1}"
	state := func(s *State) any {
		m := s.Statuses()[1]
		return words(m.Name, m.State, m.Attention, m.LimitedUntil.IsZero(), m.Turn, m.Counts.Turns)
	}
	facts{
		{"in its turn", "", state, "ana idle  true 1 1"},
		{"ended in order", "ana.1 turn_ended {}\nana.1 idle {}\nana member_ended {\"reason\":\"done\"}" + ended, state, "ana idle  true 1 1"},
		{"needs attention", "ana.1 needs_attention {\"reason\":\"stuck\"}\nana member_ended {\"reason\":\"done\"}" + ended, state,
			"ana needs attention stuck true 1 1"},
		{"limited", "ana.1 limited {\"until\":\"2026-11-25T15:00:00Z\"}\nana.1 turn_ended {}\nana member_ended {}", state,
			"ana limited  false 1 1"},
		{"logged out", "ana.1 logged_out {}\nana.1 needs_attention {\"reason\":\"log in\",\"kind\":\"login\"}\nana member_ended {}", state,
			"ana logged out log in true 1 1"},
		{"tries again in the next run", "ana.1 turn_failed {\"until\":\"2026-11-25T15:00:00Z\"}\nana member_ended {}", state, "ana waiting  true 1 1"},
		{"left", "ana member_left {\"reason\":\"halted\"}\nana member_ended {}" + ended, state, "ana ended halted true 1 1"},
		{"a hold is the store's", "ana member_held {}\nana.1 turn_ended {}\nana.1 idle {}", state, "ana idle  true 1 1"},
	}.check(t, atWork)
}

// TestCuts: texts of any length become one line, and stay valid.
func TestCuts(t *testing.T) {
	long := strings.Repeat("wörter\n\t und  mehr ", 1<<16)
	if got := cut(long); len([]rune(got)) != lineWidth || !strings.HasPrefix(got, "wörter und mehr wörter und") {
		t.Errorf("%d characters: %s", len([]rune(got)), got)
	}
	if got := firstLine("\n\n  the first\nthe second"); got != "the first" {
		t.Errorf("%q", got)
	}
	if got := cut("\xff broken \n"); got != "\xff broken" && got != "broken" {
		t.Errorf("%q", got)
	}
}

// TestBounded: the oldest entries that are over go first, and no other ones.
func TestBounded(t *testing.T) {
	isOver := func(n int) bool { return n%2 == 0 }
	list, dropped := []int{}, 0
	for n := range 20 {
		var gone int
		list, gone = bounded(append(list, n), 8, isOver)
		dropped += gone
	}
	if got := words(list, dropped); got != "[1 3 5 7 9 11 13 15 17 19] 10" {
		t.Errorf("kept %s", got)
	}
}

// TestSee: a State counts by the same rules as a running team.
func TestSee(t *testing.T) {
	s := fold(atWork + `ana.1 pass_started {"pass":1}
ana.1 tool_call {"id":"c","name":"x"}
ana.1 hook_feedback {"event":"Stop"}
ana.1 turn_ended {"usage":{"input_tokens":5,"failed_tokens":2},"usage_unknown":true,"empty":true}`)
	var done = fold(atWork).Member("ana").Done
	for _, e := range []events.Data{
		events.PassStarted{Pass: 1}, events.ToolCalled{ID: "c", Name: "x"}, events.HookFeedback{Event: "Stop"},
		events.TurnEnded{Usage: agent.Usage{InputTokens: 5, FailedTokens: 2}, UsageUnknown: true, Empty: true},
	} {
		done.See(events.Event{Member: "ana", Turn: 1, Data: e})
	}
	if got, want := words(s.Member("ana").Done), words(done); got != want {
		t.Errorf("the State counts %s, the team %s", got, want)
	}
}
