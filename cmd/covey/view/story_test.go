package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// TestStory tells every type of journal line, briefly and in full. An empty
// text stands for: not told.
func TestStory(t *testing.T) {
	task := func(op string) string {
		return fmt.Sprintf(`{"op":%q,"by":"api","task":{"id":"3","subject":"Add it","status":"pending","owner":"api"}}`, op)
	}
	for _, tc := range []struct{ kind, data, brief, full string }{
		{"team_started", `{"goal":"Ship","members":["lead"]}`, "the team starts: Ship", "the team starts: Ship"},
		{"team_started", `{"goal":"Ship","resumed":true}`, "the team goes on where it was", "the team goes on where it was"},
		{"team_ended", `{"reason":"all work is done","exit_code":0}`, "the team ends: all work is done", "the team ends: all work is done"},
		{"notified", `{"to":"desktop","kind":"question","member":"dev","count":1}`, "notice sent (desktop): question of dev", "notice sent (desktop): question of dev"},
		{"notified", `{"to":"webhook at https://example.com","kind":"ended"}`, "notice sent (webhook at https://example.com): ended",
			"notice sent (webhook at https://example.com): ended"},
		{"notified", `{"to":"desktop","kind":"ended","given_up":"HTTP 404"}`, "", ""},
		{"program_starts", `{"program":"codex-acp"}`, "", "its program codex-acp starts"},
		{"program_starts", `{"program":"codex-acp","ready":true}`, "", "its program codex-acp is ready"},
		{"member_started", `{"agent":"builtin/script"}`, "", "starts, agent builtin/script"},
		{"member_ended", `{"reason":"halted"}`, "ended: halted", "ended: halted"},
		{"turn_started", `{"cause":"task","prompt":"Do\nthis"}`, "turn 2 begins (task)", "turn 2 begins (task)\n│ Do\n│ this"},
		{"text", `{"text":"Hello\nthere"}`, "", "Hello\nthere"},
		{"tool_call", `{"id":"t","name":"Bash","input":{"command":"go test ./..."}}`, "", "calls Bash go test ./..."},
		{"tool_result", `{"id":"t","name":"Bash","content":"ok\n\n"}`, "", "│ ok"},
		{"tool_result", `{"id":"t","name":"Bash","content":""}`, "", ""},
		{"hook_started", `{"event":"Stop","command":"./x"}`, "", ""},
		{"hook_finished", `{"event":"Stop","command":"./x","outcome":"success","duration_ms":12}`, "", "Stop hook ./x: success (12 ms)"},
		{"hook_finished", `{"event":"Stop","command":"./x","outcome":"non_blocking_error","stderr":"no such file"}`,
			"Stop hook ./x failed (non_blocking_error): no such file", "Stop hook ./x: non_blocking_error (0 ms)\n│ no such file"},
		{"hook_finished", `{"event":"Stop","command":"./x","outcome":"success","warning":"left a child"}`,
			"Stop hook ./x: left a child", "Stop hook ./x: success (0 ms)\n│ left a child"},
		{"hook_feedback", `{"event":"Stop","text":"Stop hook feedback:\n[./gate.sh]: say more"}`,
			"refused by Stop: say more", "refused\n│ Stop hook feedback:\n│ [./gate.sh]: say more"},
		{"hook_feedback", `{"event":"Stop","text":"Stop hook feedback:\nsay more","path":"turn_end"}`,
			"refused by Stop: say more", "refused\n│ Stop hook feedback:\n│ say more"},
		{"hook_stopped_continuation", `{"event":"Stop","message":"enough"}`, "stopped by Stop: enough", "stopped by Stop: enough"},
		{"hook_summary", `{"count":1}`, "", ""},
		{"turn_ended", `{"reason":"completed"}`, "", "turn 2 ended: completed"},
		{"turn_ended", `{"reason":"max_turns"}`, "turn 2 ended: max_turns", "turn 2 ended: max_turns"},
		{"idle", `{"reason":"available","last_text":"All done."}`, "idle: All done.", "idle"},
		{"idle", `{"reason":"available"}`, "idle", "idle"},
		{"needs_attention", `{"reason":"8 refusals"}`, "needs attention: 8 refusals", "needs attention: 8 refusals"},
		{"message", `{"from":"api","to":"docs","text":"Look\nhere","summary":"Look"}`, "to docs: Look", "to docs\n│ Look\n│ here"},
		{"message", `{"from":"operator","to":"lead","kind":"goal","text":"Ship"}`, "", "to lead\n│ Ship"},
		{"message_delivered", `{"id":"m1"}`, "", ""},
		{"task", task("created"), "task 3 (Add it) created", "task 3 (Add it) created"},
		{"task", task("claimed"), "takes task 3 (Add it)", "takes task 3 (Add it)"},
		{"task", task("refused"), "task 3 (Add it) refused", "task 3 (Add it) refused"},
		{"task", `{"op":"awaits","reason":"the approval of ben","task":{"id":"3","subject":"Add it"}}`,
			"task 3 (Add it) waits for the approval of ben", "task 3 (Add it) waits for the approval of ben"},
		{"hook_finished", `{"event":"TaskCompleted","command":"approve:ben","outcome":"await","awaits":"the approval of ben","duration_ms":1}`,
			"", "TaskCompleted hook approve:ben: waits for the approval of ben (1 ms)"},
		{"merge", `{"id":"1","member":"ben","tasks":["3"],"title":"Add it","into":"main","state":"held","reason":"it changes protected files"}`,
			"task 3 (Add it) is held: it changes protected files", "task 3 (Add it) is held: it changes protected files"},
		{"merge", `{"id":"1","member":"ben","title":"work of ben","into":"main","state":"merged","result":"0123456789abc"}`,
			"work of ben is merged into main as 0123456789", "work of ben is merged into main as 0123456789"},
		{"merge", `{"id":"1","member":"ben","tasks":["3"],"title":"Add it","into":"main","state":"returned","fix":"7","reason":"it conflicts"}`,
			"task 3 (Add it) is sent back, and goes on as task 7: it conflicts", "task 3 (Add it) is sent back, and goes on as task 7: it conflicts"},
		{"task_unchanged", `{"task_id":"3","subject":"Add it"}`,
			"task 3 (Add it) was completed without a change: there is nothing to merge", "task 3 (Add it) was completed without a change: there is nothing to merge"},
		{"member_held", `{"by":"operator","cut":true}`, "held by a person until covey resume api or a text from you",
			"held by a person until covey resume api or a text from you"},
		{"member_resumed", `{"by":"lead"}`, "goes on: resumed by lead", "goes on: resumed by lead"},
		{"task", task("updated"), "", ""},
		{"task", `{"op":"created"}`, "", ""},
		{"permission", `{"tool":"Bash","decision":"deny","by":"rule","rule":"Bash(git push*)"}`,
			"may not use Bash (Bash(git push*))", "may not use Bash (Bash(git push*))"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"mode"}`, "may not use Bash: its permission mode forbids it",
			"may not use Bash: its permission mode forbids it"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"nobody"}`, "may not use Bash: nobody can be asked",
			"may not use Bash: nobody can be asked"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"mode","mode":"dontAsk","call":"make; ` + strings.Repeat("x", 120) + `"}`,
			"may not use Bash (make; " + strings.Repeat("x", 94) + "…): its permission mode dontAsk forbids it",
			"may not use Bash (make; " + strings.Repeat("x", 94) + "…): its permission mode dontAsk forbids it"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"nobody","call":"a\u001b[2J b"}`,
			`may not use Bash (a\x1b[2J b): nobody can be asked`, `may not use Bash (a\x1b[2J b): nobody can be asked`},
		{"permission", `{"tool":"Bash","decision":"deny","by":"nobody","rule":"Bash(rm*)"}`,
			"may not use Bash: Bash(rm*) asks, and nobody can be asked", "may not use Bash: Bash(rm*) asks, and nobody can be asked"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"time limit"}`, "may not use Bash: nobody answered in time",
			"may not use Bash: nobody answered in time"},
		{"permission", `{"tool":"Bash","decision":"deny","by":"operator"}`, "may not use Bash: operator said no",
			"may not use Bash: operator said no"},
		{"hook_feedback", `{"event":"PostToolUse","text":"<task-notification>\n<summary>It is red</summary>\n</task-notification>\n<system-reminder>\nsay more\n</system-reminder>"}`,
			"refused by PostToolUse: It is red say more", "refused\n│ It is red\n│ say more"},
		{"turn_ended", `{"reason":"completed","model_failed":true}`, "", "turn 2 ended: failed"},
		{"permission", `{"tool":"Bash","decision":"allow"}`, "", ""},
		{"permission", `{"tool":"Bash","decision":"deny","by":"hook"}`, "", ""},
		{"member_ended", `{"reason":"done"}`, "", ""},
		{"warning", `{"text":"slow disk"}`, "warning: slow disk", "warning: slow disk"},
		{"notification", `{"kind":"idle_prompt","message":"x"}`, "", ""},
		{"something_new", `{"text":"x"}`, "", ""},
		{"text", `[1]`, "", ""},
		{"text", `{"text":7}`, "", ""},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			l := teamtest.Line(1, "api", tc.kind, tc.data)
			if e, ok := brief(l.Event()); e.Text != tc.brief || ok != (tc.brief != "") {
				t.Errorf("brief(%s.Event()) = %q, %t, want %q", tc.data, e.Text, ok, tc.brief)
			}
			if e, ok := Full(l.Event()); e.Text != tc.full || ok != (tc.full != "") {
				t.Errorf("full(%s) = %q, %t, want %q", tc.data, e.Text, ok, tc.full)
			}
		})
	}
}

// TestStoryIsDisarmed: no field of any line reaches a terminal as it is.
func TestStoryIsDisarmed(t *testing.T) {
	const evil = `\u001b]52;c;eA==\u0007\r\u202e`
	for _, kind := range []string{
		"team_started", "team_ended", "member_started", "member_ended", "turn_started", "text", "tool_call", "tool_result",
		"hook_finished", "hook_feedback", "hook_stopped_continuation", "turn_ended", "idle", "needs_attention", "message",
		"task", "permission", "warning",
	} {
		data := strings.ReplaceAll(`{"goal":"E","reason":"E","agent":"E","cause":"E","prompt":"E","text":"E","name":"E",
			"input":{"command":"E"},"content":"E","event":"E","command":"E","outcome":"cancelled","stderr":"E","warning":"E",
			"message":"E","last_text":"E","to":"E","summary":"E","op":"claimed","task":{"id":"E","subject":"E","owner":"E"},
			"tool":"E","decision":"deny","by":"E","rule":"E"}`, "E", evil)
		l := teamtest.Line(1, "m\x1b[2J", kind, data)
		for name, tell := range map[string]func(events.Event) (Entry, bool){"brief": brief, "full": Full} {
			e, ok := tell(l.Event())
			if !ok && name == "full" {
				t.Errorf("%s: nothing told", kind)
			}
			if term.Plain(e.Text) != e.Text || term.Plain(e.Who) != e.Who || strings.Contains(e.Text, "\x1b") {
				t.Errorf("%s of %s: %q says %q", name, kind, e.Who, e.Text)
			}
		}
	}
}

func TestCallText(t *testing.T) {
	for _, tc := range []struct{ name, input, want string }{
		{"Bash", `{"command":"ls -l","description":"x"}`, "Bash ls -l"},
		{"Read", `{"limit":10,"file_path":"/a b"}`, "Read /a b"},
		{"TaskUpdate", `{"taskId":"3","status":"completed","addBlocks":["4"]}`, `TaskUpdate addBlocks=["4"] status=completed taskId=3`},
		{"TaskList", `{}`, "TaskList"},
		{"Odd", `"just text"`, `Odd "just text"`},
		{"None", ``, "None"},
	} {
		if got := callText(tc.name, json.RawMessage(tc.input)); got != tc.want {
			t.Errorf("callText(%s, %s) = %q, want %q", tc.name, tc.input, got, tc.want)
		}
	}
}

func TestEntryLines(t *testing.T) {
	s, _ := teamtest.Screen()
	e, _ := Full(teamtest.Line(5, "backend", "text", `{"text":"first line that is long\n\tsecond"}`).Event())
	for _, tc := range []struct {
		width int
		want  []string
	}{
		{0, []string{"12:00:05 backend    first line that is long", "                        second"}},
		{40, []string{"12:00:05 backend    first line that is", "                    long", "                        second"}},
		{16, []string{"backend: first", "line that is", "long", "    second"}},
	} {
		got := Lines(s, e, tc.width)
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("width %d:\n%s\nwant\n%s", tc.width, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

// TestTeller: what a person does has no member, and is not told as the team's.
func TestTeller(t *testing.T) {
	for _, tc := range []struct{ member, typ, data, want string }{
		{"api", "message", `{"from":"api","to":"docs"}`, "api"},
		{"", "message", `{"from":"operator","to":"docs","text":"x"}`, "operator"},
		{"", "message", `{"to":"docs","text":"x"}`, "team"},
		{"", "task", `{"op":"completed","by":"operator","task":{"id":"1"}}`, "operator"},
		{"", "warning", `{"text":"x"}`, "team"},
	} {
		l := teamtest.Line(1, tc.member, tc.typ, tc.data)
		if e, _ := brief(l.Event()); e.Who != tc.want {
			t.Errorf("brief %s: %q, want %q", tc.data, e.Who, tc.want)
		}
		if e, _ := Full(l.Event()); e.Who != tc.want {
			t.Errorf("full %s: %q, want %q", tc.data, e.Who, tc.want)
		}
	}
}

// Lines of a member's helper say so, briefly and in full.
func TestHelperStory(t *testing.T) {
	for _, tc := range []struct{ kind, data, brief, full string }{
		{"subagent_started", `{"agent_type":"foo","description":"some\nwork","prompt":"Do\nthis"}`,
			"", "[a123456] helper foo begins: some work\n│ Do\n│ this"},
		{"subagent_started", `{"agent_type":"foo","description":"w","background":true}`,
			"", "[a123456] helper foo begins in the background: w"},
		{"text", `{"text":"Hello"}`, "", "[a123456] Hello"},
		{"tool_result", `{"name":"Bash","content":""}`, "", ""},
		{"hook_feedback", `{"event":"SubagentStop","text":"Stop hook feedback:\n[./gate.sh]: say more"}`,
			"[a123456] refused by SubagentStop: say more", "[a123456] refused\n│ Stop hook feedback:\n│ [./gate.sh]: say more"},
		{"subagent_ended", `{"reason":"completed"}`, "", "[a123456] helper ended: completed"},
		{"subagent_ended", `{"reason":"completed","problem":"API Error: too much"}`,
			"[a123456] helper ended: API Error: too much", "[a123456] helper ended: API Error: too much"},
	} {
		l := teamtest.Line(1, "api", tc.kind, tc.data)
		l.Helper = "a123456789abcdef0"
		if e, ok := brief(l.Event()); e.Text != tc.brief || ok != (tc.brief != "") {
			t.Errorf("%s briefly: %q, want %q", tc.kind, e.Text, tc.brief)
		}
		if e, ok := Full(l.Event()); e.Text != tc.full || ok != (tc.full != "") {
			t.Errorf("%s in full: %q, want %q", tc.kind, e.Text, tc.full)
		}
	}
}

// What a helper does is not the member's state: one that is idle stays so while
// its helper works in the background.
func TestHelperIsNotItsMember(t *testing.T) {
	var s view.State
	show := func(seq int, helper, kind, data string) (*view.Member, string) {
		l := teamtest.Line(seq, "api", kind, data)
		l.Helper = helper
		s.Apply(l.Event())
		m := s.Member("api")
		return m, MemberDoes(&s, m, nil)
	}
	show(1, "", "turn_started", `{"cause":"task"}`)
	if _, what := show(2, "a1", "tool_call", `{"name":"Bash","input":{"command":"go test"}}`); what != "helper: Bash go test" {
		t.Errorf("doing %q", what)
	}
	m, _ := show(3, "a1", "hook_feedback", `{"event":"SubagentStop","text":"no"}`)
	if n := s.Run().Refusals; m.Done.Refusals != 1 || n != 1 {
		t.Errorf("refused %d, %d", m.Done.Refusals, n)
	}
	show(4, "", "idle", `{"reason":"available","last_text":"later"}`)
	show(5, "a1", "text", `{"text":"I look"}`)
	if m, what := show(6, "a1", "tool_call", `{"name":"Bash","input":{}}`); m.State != api.Resting || what != "later" {
		t.Errorf("the member is %s and does %q", m.State, what)
	}
}

// TestConcerns: a member's log has its own lines, mail for it, and its tasks.
func TestConcerns(t *testing.T) {
	mine := Concerns("ana")
	for _, tc := range []struct {
		name string
		line events.Line
		want bool
	}{
		{"its own", teamtest.Line(1, "ana", "text", `{"text":"x"}`), true},
		{"another's", teamtest.Line(1, "ben", "text", `{"text":"ana"}`), false},
		{"mail for it", teamtest.Line(1, "ben", "message", `{"from":"ben","to":"ana"}`), true},
		{"mail of others", teamtest.Line(1, "ben", "message", `{"from":"ben","to":"lead"}`), false},
		{"its task", teamtest.Line(1, "ben", "task", `{"op":"completed","task":{"id":"1","owner":"ana"}}`), true},
		{"another's task", teamtest.Line(1, "", "task", `{"op":"completed","task":{"id":"1","owner":"ben"}}`), false},
		{"the team's", teamtest.Line(1, "", "team_ended", `{"reason":"done"}`), false},
	} {
		if got := mine(tc.line.Event()); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

// TestRequestText: what is told of a question, and to whom.
func TestRequestText(t *testing.T) {
	for text, want := range map[string]string{
		`{"state":"open","to":"operator","id":"X","text":"dev asks"}`:                         "asks you: dev asks\n  answer with covey attach, or covey inbox approve X or deny X",
		`{"state":"open","to":"lead","text":"dev asks"}`:                                      "asks lead: dev asks",
		`{"state":"approved","kind":"plan","member":"dev","by":"operator"}`:                   "plan request of dev approved by a person",
		`{"state":"denied","kind":"approval","member":"dev","by":"rev","feedback":"mend it"}`: "approval request of dev denied by rev: mend it",
		`{"state":"expired","kind":"permission","member":"dev"}`:                              "permission request of dev was not answered in time",
		`{"state":"withdrawn","kind":"permission","member":"dev"}`:                            "",
	} {
		e := teamtest.Line(1, "dev", "request", text).Event()
		if got, _ := briefText(e); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
