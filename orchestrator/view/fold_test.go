package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
)

// noon is the time of line 0; each further line is a second later.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// lineOf makes a line of a text: "ana.2 text {…}" is of ana's second turn, "ana.2/a1 …" of its
// helper a1, and "- …" of the team.
func lineOf(seq int, text string) events.Line {
	who, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	kind, data, _ := strings.Cut(rest, " ")
	l := events.Line{Seq: uint64(seq), Time: noon.Add(time.Duration(seq) * time.Second), Team: "crew", Type: kind, Data: json.RawMessage(data)}
	if data == "" {
		l.Data = json.RawMessage("{}")
	}
	if who == "-" {
		return l
	}
	who, l.Helper, _ = strings.Cut(who, "/")
	l.Member, rest, _ = strings.Cut(who, ".")
	_, _ = fmt.Sscan(rest, &l.Turn)
	return l
}

// fold applies the lines of a text, one a line, numbered from 1.
func fold(text string) *State {
	s := &State{}
	s.apply(text)
	return s
}

// apply applies further lines.
func (s *State) apply(text string) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			s.Apply(lineOf(int(s.Seq)+1, line).Event())
		}
	}
}

// encoded returns the JSON of a State, or of a part of one.
func encoded(t interface{ Fatal(...any) }, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// facts are rows of a table: what some lines say.
type facts []struct {
	name, lines string
	got         func(s *State) any
	want        string
}

// check folds the lines of each row after before.
func (rows facts) check(t *testing.T, before string) {
	t.Helper()
	for _, row := range rows {
		if got := fmt.Sprint(row.got(fold(before + row.lines))); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.name, got, row.want)
		}
	}
}

// words returns values in one line, with spaces between them.
func words(v ...any) string { return strings.TrimSpace(fmt.Sprintln(v...)) }

// crew is a team of a lead and two others in its first run.
const crew = `- team_started {"goal":"Ship it","members":["lead","ana","ben"],"version":"1.2","spec":"/w/team.yaml","workspace":"/w"}
lead member_started {"agent":"builtin/script","session_id":"s1"}
ana member_started {"agent":"acp/codex","session_id":"s2"}
ben member_started {"agent":"acp/codex","session_id":"s3"}
`

// atWork is crew with a task that ana has in progress in its first turn.
const atWork = crew + `lead task {"op":"created","by":"lead","task":{"id":"1","subject":"Do it","status":"pending","owner":"ana","epoch":1}}
ana.1 turn_started {"cause":"task","prompt":"Do\nit"}
ana.1 task {"op":"claimed","by":"ana","task":{"id":"1","subject":"Do it","status":"in_progress","owner":"ana","epoch":2}}
`

// ana returns what a State says of ana's state and what she does.
func ana(s *State) any {
	m := s.Member("ana")
	text := string(m.State)
	for _, part := range []string{m.Gate, m.Doing, m.WaitsFor, m.Attention} {
		text += "|" + part
	}
	return text
}
