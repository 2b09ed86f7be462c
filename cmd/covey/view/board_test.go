package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// playedBoard is a board in the middle of a run.
func playedBoard() *board {
	b := newBoard("crew", []string{"lead", "api", "docs"}, teamtest.Line(0, "", "", "").Time)
	task := func(op, id, status, owner, blockedBy string) journal.Line {
		return teamtest.Line(3, "", "task", fmt.Sprintf(
			`{"op":%q,"task":{"id":%q,"subject":"S%s","status":%q,"owner":%q,"blockedBy":[%s]}}`, op, id, id, status, owner, blockedBy))
	}
	for _, l := range []journal.Line{
		teamtest.Line(1, "", "team_started", `{"goal":"Ship it"}`),
		task("created", "1", "pending", "", ""),
		task("created", "2", "pending", "docs", `"1"`),
		task("created", "3", "pending", "", ""),
		task("created", "4", "pending", "", ""),
		task("deleted", "4", "pending", "", ""),
		teamtest.Line(4, "lead", "member_started", `{"agent":"builtin/script"}`),
		teamtest.Line(4, "docs", "member_started", `{"agent":"builtin/script"}`),
		teamtest.Line(5, "api", "turn_started", `{"cause":"task","prompt":"go"}`),
		task("claimed", "1", "in_progress", "api", ""),
		task("completed", "3", "completed", "lead", ""),
		teamtest.Line(6, "api", "tool_call", `{"name":"Bash","input":{"command":"go test ./..."}}`),
		teamtest.Line(7, "api", "hook_started", `{"event":"TaskCompleted","command":"./gate.sh"}`),
		teamtest.Line(8, "api", "hook_feedback", `{"event":"TaskCompleted","text":"TaskCompleted hook feedback:\nit fails"}`),
		teamtest.Line(9, "lead", "needs_attention", `{"reason":"8 refusals in a row"}`),
	} {
		b.apply(l)
	}
	return b
}

func TestBoard(t *testing.T) {
	s, _ := teamtest.Screen()
	b := playedBoard()
	now := b.started.Add(75 * time.Second)
	got := strings.Join(b.draw(s, 100, 20, now), "\n")
	for _, want := range []string{
		"covey: crew · 1 of 3 tasks done · 1 refused · 1m15s",
		"  lead  needs attention  8 refusals in a row",
		"  api   working          task 1 · 1 refused · refused by TaskCompleted",
		"  docs  idle             waits for task 1 of api",
		"api        refused by TaskCompleted: it fails",
		"Ctrl-C stops the team in order",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestBoardOfAGate: while a gate runs, the member stands at the gates.
func TestBoardOfAGate(t *testing.T) {
	b := newBoard("crew", []string{"api"}, time.Time{})
	b.apply(teamtest.Line(1, "api", "hook_started", `{"event":"Stop","command":"./gate.sh"}`))
	if m := b.row("api"); m.state != atGates || m.doing != "Stop: ./gate.sh" {
		t.Errorf("%+v, want it at the gates", m)
	}
	b.apply(teamtest.Line(2, "api", "hook_started", `{"event":"PreToolUse","command":"./look.sh","status":"Looking closely"}`))
	if m := b.row("api"); m.doing != "PreToolUse: Looking closely" {
		t.Errorf("%+v, want the hook's own words", m)
	}
	b.apply(teamtest.Line(3, "api", "idle", `{"last_text":"Done."}`))
	if m := b.row("api"); m.state != idle || b.what(m) != "Done." {
		t.Errorf("%+v, want it idle with its last words", m)
	}
}

// TestBoardOfAnEarlierRun: what an earlier run left is there in the next one,
// but for its refusals, its end and its members' states.
func TestBoardOfAnEarlierRun(t *testing.T) {
	b := playedBoard()
	b.apply(teamtest.Line(50, "", "team_ended", `{"reason":"interrupted"}`))
	if b.ended != "interrupted" {
		t.Errorf("ended = %q", b.ended)
	}
	b.apply(teamtest.Line(60, "", "team_started", `{"goal":"Ship it","resumed":true}`))
	done, all := b.counts()
	if done != 1 || all != 3 || b.refused != 0 || b.ended != "" || b.row("api").state != starting {
		t.Errorf("%d of %d, %d refused, ended %q, api %+v", done, all, b.refused, b.ended, b.row("api"))
	}
	if !b.started.Equal(teamtest.Line(60, "", "", "").Time) {
		t.Errorf("the clock did not start anew: %v", b.started)
	}
}

// TestBoardFits: whatever the size of the terminal and whatever the members
// are called and say, the drawing stays inside and shows the heading.
func TestBoardFits(t *testing.T) {
	s := &term.Screen{Color: true}
	rapid.Check(t, func(t *rapid.T) {
		b := playedBoard()
		b.notice = rapid.SampledFrom([]string{"", "stopping"}).Draw(t, "notice")
		for i := range rapid.IntRange(0, 40).Draw(t, "members") {
			name := fmt.Sprintf("%s%d", rapid.StringN(0, 8, 32).Draw(t, "name"), i)
			text := rapid.String().Draw(t, "text")
			b.row(name)
			b.apply(teamtest.Line(10+i, name, "needs_attention", fmt.Sprintf(`{"reason":%q}`, strings.ToValidUTF8(text, "?"))))
		}
		width, height := rapid.IntRange(1, 150).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		lines := b.draw(s, width, height, b.started)
		if len(lines) < 1 || len(lines) > height {
			t.Fatalf("%d lines on a terminal of %d", len(lines), height)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > width || strings.Contains(line, "\n") {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
		if !strings.HasPrefix("covey: crew", strings.TrimSuffix(ansi.Strip(lines[0]), "…")) && width < 11 {
			t.Fatalf("first line %q", lines[0])
		}
	})
}

// TestBoardKnowsItsMembers: the team's start names them, and whoever else a line
// is from is no member.
func TestBoardKnowsItsMembers(t *testing.T) {
	b := newBoard("crew", nil, time.Time{})
	b.apply(teamtest.Line(1, "", "team_started", `{"members":["lead","api"]}`))
	b.apply(teamtest.Line(2, "operator", "message", `{"to":"lead","text":"hi"}`))
	if len(b.members) != 2 || b.members[0].name != "lead" || b.members[1].name != "api" {
		t.Errorf("%d members, the first %+v", len(b.members), b.members[0])
	}
}

func TestBoardForgetsOldNews(t *testing.T) {
	b := newBoard("crew", nil, time.Time{})
	for i := range 3 * maxNews {
		b.apply(teamtest.Line(i, "api", "warning", fmt.Sprintf(`{"text":"number %d"}`, i)))
	}
	if len(b.news) != maxNews || b.news[maxNews-1].text != fmt.Sprintf("warning: number %d", 3*maxNews-1) {
		t.Errorf("%d news, the last %q", len(b.news), b.news[len(b.news)-1].text)
	}
}
