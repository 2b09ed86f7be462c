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
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
)

// playedBoard is a board in the middle of a run.
func playedBoard() *board {
	b := newBoard("crew", []string{"lead", "api", "docs"}, teamtest.Line(0, "", "", "").Time)
	task := func(op, id, status, owner, blockedBy string) events.Line {
		return teamtest.Line(3, "", "task", fmt.Sprintf(
			`{"op":%q,"task":{"id":%q,"subject":"S%s","status":%q,"owner":%q,"blockedBy":[%s]}}`, op, id, id, status, owner, blockedBy))
	}
	for _, l := range []events.Line{
		teamtest.Line(0, "", "team_started", `{"goal":"Ship it","members":["lead","api","docs"]}`),
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
		b.see(l)
	}
	return b
}

// see applies a line as the next one of the journal.
func (b *board) see(l events.Line) {
	l.Seq = b.state.Seq + 1
	b.apply(l.Event())
}

// memberOf returns a member and what the board says of it.
func (b *board) memberOf(name string) (m *view.Member, what string) {
	m = b.state.Member(name)
	return m, b.what(m, b.state.Graph())
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
	b.see(teamtest.Line(1, "api", "hook_started", `{"event":"Stop","command":"./gate.sh"}`))
	if m, what := b.memberOf("api"); word(m) != atGates || what != "Stop: ./gate.sh" {
		t.Errorf("%+v, want it at the gates", m)
	}
	b.see(teamtest.Line(2, "api", "hook_started", `{"event":"PreToolUse","command":"./look.sh","status":"Looking closely"}`))
	if m, what := b.memberOf("api"); what != "PreToolUse: Looking closely" {
		t.Errorf("%+v, want the hook's own words", m)
	}
	b.see(teamtest.Line(3, "api", "idle", `{"last_text":"Done."}`))
	if m, what := b.memberOf("api"); m.State != api.Resting || what != "Done." {
		t.Errorf("%+v, want it idle with its last words", m)
	}
}

// TestBoardOfAnEarlierRun: what an earlier run left is there in the next one,
// but for its refusals, its end and its members' states.
func TestBoardOfAnEarlierRun(t *testing.T) {
	b := playedBoard()
	s, _ := teamtest.Screen()
	draw := func(second int) string {
		return strings.Join(b.draw(s, 100, 20, teamtest.Line(second, "", "", "").Time), "\n")
	}
	b.see(teamtest.Line(50, "", "team_ended", `{"reason":"interrupted"}`))
	if got := draw(55); !strings.HasPrefix(got, "covey: crew · 1 of 3 tasks done · 1 refused · 55s · ended: interrupted\n") {
		t.Errorf("after the end\n%s", got)
	}
	b.see(teamtest.Line(60, "", "team_started", `{"goal":"Ship it","resumed":true,"members":["lead","api","docs"]}`))
	for _, want := range []string{"covey: crew · 1 of 3 tasks done · 2s\n", "  api   starting         task 1\n"} {
		if got := draw(62); !strings.Contains(got, want) {
			t.Errorf("no %q in the next run\n%s", want, got)
		}
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
			b.see(teamtest.Line(10+i, name, "needs_attention", fmt.Sprintf(`{"reason":%q}`, strings.ToValidUTF8(text, "?"))))
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
	b.see(teamtest.Line(1, "", "team_started", `{"members":["lead","api"]}`))
	b.see(teamtest.Line(2, "operator", "message", `{"to":"lead","text":"hi"}`))
	if all := b.members(); len(all) != 2 || all[0].Name != "lead" || all[1].Name != "api" {
		t.Errorf("%d members, the first %+v", len(all), all[0])
	}
}

func TestBoardForgetsOldNews(t *testing.T) {
	b := newBoard("crew", nil, time.Time{})
	for i := range 3 * maxNews {
		b.see(teamtest.Line(i, "api", "warning", fmt.Sprintf(`{"text":"number %d"}`, i)))
	}
	if len(b.news) != maxNews || b.news[maxNews-1].Text != fmt.Sprintf("warning: number %d", 3*maxNews-1) {
		t.Errorf("%d news, the last %q", len(b.news), b.news[len(b.news)-1].Text)
	}
}

// word is what a board calls the state of a member.
func word(m *view.Member) string {
	word, _ := MemberWord(m)
	return word
}

// TestBoardWraps: what asks a person for something or warns of it is there as a whole where rows are
// free; else its end is, which says what to do.
func TestBoardWraps(t *testing.T) {
	screen, _ := teamtest.Screen()
	b := newBoard("crew", []string{"dev"}, time.Now())
	b.see(teamtest.Line(1, "", "team_started", `{"goal":"Ship it","members":["dev"]}`))
	b.see(teamtest.Line(2, "dev", "turn_failed", `{"text":"the agent program `+strings.Repeat("/a/long/path ", 9)+`is not there: install it"}`))
	b.see(teamtest.Line(3, "dev", "request", `{"id":"r1","kind":"permission","member":"dev","to":"operator","state":"open",`+
		`"text":"dev asks to use Bash: touch out.txt; make (permission mode default)"}`))
	b.see(teamtest.Line(4, "dev", "needs_attention", `{"reason":"its gates refused `+strings.Repeat("again and ", 12)+`again; look at covey logs dev"}`))
	for _, size := range [][2]int{{80, 24}, {120, 40}, {80, 12}, {60, 9}} {
		lines := b.draw(screen, size[0], size[1], time.Now())
		for _, line := range lines {
			if ansi.StringWidth(line) > size[0] {
				t.Errorf("%v: %q is too wide", size, line)
			}
		}
		text := strings.Join(strings.Fields(strings.Join(lines[:len(lines)-1], " ")), " ") // without the foot
		for _, want := range []string{"r1 or deny r1", "covey logs dev"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v lacks %q:\n%s", size, want, strings.Join(lines, "\n"))
			}
		}
		if size[1] >= 24 && strings.Contains(text, "…") {
			t.Errorf("%v: cut, with rows free:\n%s", size, strings.Join(lines, "\n"))
		}
	}
}
