package view

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// The lines of a member that reached its limit at noon, and one that is logged
// out.
func lockedLines() []events.Line {
	until := time.Date(2026, 11, 21, 15, 4, 0, 0, time.Local).Format(time.RFC3339)
	return []events.Line{
		teamtest.Line(0, "", "team_started", `{"goal":"Ship","members":["lead","api","docs"]}`),
		teamtest.Line(1, "lead", "member_started", `{"agent":"acp/codex"}`),
		teamtest.Line(1, "api", "member_started", `{"agent":"acp/codex"}`),
		teamtest.Line(1, "docs", "member_started", `{"agent":"acp/gemini"}`),
		teamtest.Line(2, "lead", "waiting", `{"kind":"slot","for":"a slot of codex"}`),
		teamtest.Line(3, "api", "turn_started", `{"cause":"task"}`),
		teamtest.Line(4, "api", "limited", `{"agent":"codex","until":"`+until+`","known":true,"text":"5-hour limit reached"}`),
		teamtest.Line(4, "api", "turn_ended", `{"reason":"usage_limit"}`),
		teamtest.Line(4, "api", "idle", `{"reason":"usage_limit","last_text":"usage limit reached"}`),
		teamtest.Line(5, "docs", "turn_started", `{"cause":"task"}`),
		teamtest.Line(6, "docs", "logged_out", `{"agent":"gemini","hint":"no login","fix":"gemini"}`),
		teamtest.Line(6, "docs", "turn_ended", `{"reason":"logged_out"}`),
		teamtest.Line(6, "docs", "needs_attention", `{"reason":"gemini is not logged in; run `+"`gemini`"+`","kind":"login"}`),
		teamtest.Line(6, "docs", "idle", `{"reason":"logged_out"}`),
		teamtest.Line(7, "", "team_waits", `{"until":"`+until+`","members":["api"]}`),
	}
}

// Each lockout is one line for people, and the end of its turn is none.
func TestStoryOfLockouts(t *testing.T) {
	var briefly, fully []string
	for _, l := range lockedLines()[4:] {
		if e, ok := brief(l.Event()); ok {
			briefly = append(briefly, e.Who+": "+e.Text)
		}
		if e, ok := Full(l.Event()); ok {
			fully = append(fully, e.Who+": "+e.Text)
		}
	}
	want := []string{
		"api: turn 2 begins (task)", "api: usage limit of codex reached; it goes on at 15:04",
		"docs: turn 2 begins (task)", "docs: gemini is not logged in; run `gemini`",
		"team: waits until 15:04 for api (usage limit)",
	}
	if strings.Join(briefly, "\n") != strings.Join(want, "\n") {
		t.Errorf("briefly\n%s\nwant\n%s", strings.Join(briefly, "\n"), strings.Join(want, "\n"))
	}
	all := strings.Join(fully, "\n")
	for _, want := range []string{
		"lead: waits for a slot of codex", "api: usage limit of codex reached; it goes on at 15:04\n│ 5-hour limit reached",
		"api: turn 2 ended: usage_limit", "docs: gemini is not logged in\n│ no login",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	guess := teamtest.Line(1, "api", "limited", `{"agent":"codex","until":"2026-11-23T09:00:00Z","text":"no more"}`)
	if e, _ := brief(guess.Event()); !strings.Contains(e.Text, "reached; it tries again at Mon ") {
		t.Errorf("a guess is told as %q", e.Text)
	}
}

func TestMembersInLockouts(t *testing.T) {
	var s view.State
	says := func(lines []events.Line, want ...string) {
		t.Helper()
		for _, l := range lines {
			l.Seq = s.Seq + 1
			s.Apply(l.Event())
		}
		for i, m := range s.Members {
			word, _ := MemberWord(m)
			if got := m.Name + " " + word + ": " + MemberDoes(&s, m, s.Graph()); got != want[i] {
				t.Errorf("%s, want %s", got, want[i])
			}
		}
	}
	const lead, docs = "lead waiting: for a slot of codex", "docs logged out: gemini is not logged in; run `gemini`"
	says(lockedLines(), lead, "api limited until 15:04: 5-hour limit reached", docs)
	says([]events.Line{teamtest.Line(9, "api", "turn_started", `{"cause":"resume"}`)}, lead, "api working: thinking", docs)
}

// A team that does not run is shown from its journal in the same states.
func TestLastRunOfLockouts(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	read := func(lines []events.Line) (limited, loggedOut api.MemberStatus) {
		teamtest.WriteJournal(t, place, lines...)
		run, err := ReadLastRun(place)
		if err != nil {
			t.Fatal(err)
		}
		all := run.Statuses()
		return all[1], all[2]
	}
	limited, docs := read(lockedLines())
	if limited.State != api.Limited || limited.LimitedUntil.Local().Format("15:04") != "15:04" {
		t.Errorf("api is %+v", limited)
	}
	if docs.State != api.LoggedOut || !strings.Contains(docs.Attention, "run `gemini`") {
		t.Errorf("docs is %+v", docs)
	}
	limited, _ = read(append(lockedLines(), teamtest.Line(9, "api", "turn_started", `{"cause":"resume"}`)))
	if limited.State != api.Resting || !limited.LimitedUntil.IsZero() {
		t.Errorf("after its next turn began api is %+v", limited)
	}
}

// A turn that failed is told with the vendor's words and when it is tried again; the end
// of the turn is not told beside it, and does not take the words off the board.
func TestStoryOfFailedTurns(t *testing.T) {
	until := teamtest.Line(6, "", "", "").Time.Format(time.RFC3339)
	lines := []events.Line{
		teamtest.Line(0, "", "team_started", `{"goal":"Ship","members":["lead","api"]}`),
		teamtest.Line(1, "api", "turn_started", `{"cause":"task"}`),
		teamtest.Line(2, "api", "turn_failed", `{"text":"429 Too Many Requests","passing":true,"failed":3,"until":"`+until+`","left":6}`),
		teamtest.Line(2, "api", "turn_ended", `{"reason":"completed"}`),
		teamtest.Line(2, "api", "idle", `{"reason":"failed","last_text":"API error (rate_limit): 429 Too Many Requests"}`),
	}
	var told []string
	for _, l := range lines[2:] {
		if e, ok := brief(l.Event()); ok {
			told = append(told, e.Text)
		}
	}
	var s view.State
	for i, l := range lines {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	want := "turn 2 failed; it is tried again in 4s (6 tries left): 429 Too Many Requests"
	if strings.Join(told, "\n") != want {
		t.Errorf("told as %q, want %q", told, want)
	}
	m := s.Member("api")
	if word, _ := MemberWord(m); word != "waiting" || !strings.Contains(MemberDoes(&s, m, nil), "after: 429 Too Many Requests") {
		t.Errorf("it is %+v", m)
	}
	restarts := teamtest.Line(3, "api", "program_restarts", `{"reason":"the agent program failed (signal: killed)","left":2}`)
	if e, _ := brief(restarts.Event()); e.Text != "its program is started again: the agent program failed (signal: killed)" {
		t.Errorf("a restart is told as %q", e.Text)
	}
	for data, want := range map[string]string{
		`{"text":"no such model"}`:                  "turn 2 failed: no such model",
		`{"text":"busy","passing":true,"failed":9}`: "turn 2 failed, and so did the 8 before it: busy",
	} {
		if e, _ := brief(teamtest.Line(3, "api", "turn_failed", data).Event()); e.Text != want {
			t.Errorf("%s is told as %q, want %q", data, e.Text, want)
		}
	}
}
