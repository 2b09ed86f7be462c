package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// hostileLines are lines of a journal of which each text ends with a payload.
func hostileLines(t *testing.T, payload string) []events.Line {
	var lines []events.Line
	for i, l := range append(teamtest.BusyDay(16, 1), teamtest.Line(17, "m0", "needs_attention", `{"reason":"x"}`),
		teamtest.Line(18, "m0", "warning", `{"text":"x"}`), teamtest.Line(19, "m0", "text", `{"text":"x"}`)) {
		var data any
		if err := json.Unmarshal(l.Data, &data); err != nil {
			t.Fatal(err)
		}
		l.Data, _ = json.Marshal(withPayload(data, payload)) // it was decoded
		l.Seq = uint64(i + 1)
		lines = append(lines, l)
	}
	return lines
}

// withPayload adds a payload to all texts of decoded JSON but those by which lines are told apart.
func withPayload(v any, payload string) any {
	switch v := v.(type) {
	case string:
		return v + payload
	case []any:
		for i := range v {
			v[i] = withPayload(v[i], payload)
		}
	case map[string]any:
		for key, one := range v {
			if key != "op" && key != "state" && key != "status" && key != "kind" {
				v[key] = withPayload(one, payload)
			}
		}
	}
	return v
}

// TestHostileLogs: whatever is in any text of a team, logs show it as plain as it looks. The board has a
// test of its own.
func TestHostileLogs(t *testing.T) {
	for _, payload := range teamtest.Payloads() {
		s, out := teamtest.Screen()
		print := LinePrinter(s, false)
		for _, l := range hostileLines(t, payload) {
			if err := print(l); err != nil {
				t.Fatal(err)
			}
		}
		teamtest.CheckPlain(t, "logs: "+payload, out.String())
	}
}

// TestMaskedLogs: printed lines of the journal have no secret, as text, in brief and as JSON, which stays JSON.
func TestMaskedLogs(t *testing.T) {
	s, out := teamtest.Screen()
	s.Mask = func(text string) string { return strings.ReplaceAll(text, "the-secret", "***") }
	text := teamtest.Line(7, "ana", "text", `{"text":"it is the-secret"}`)
	for _, print := range []func(events.Line) error{LinePrinter(s, false), LinePrinter(s, true)} {
		if err := print(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := BriefPrinter(s)(teamtest.Line(8, "", "team_ended", `{"result":"failed","reason":"the-secret is wrong"}`)); err != nil {
		t.Fatal(err)
	}
	s.Printf("%s\n", "the-secret")
	s.Line(term.Normal, "the-secret")
	if got := out.String(); strings.Contains(got, "the-secret") || strings.Count(got, "***") < 5 || !strings.Contains(got, `{"text":"it is ***"}`) {
		t.Error(got)
	}
	if !strings.Contains(string(text.Data), "the-secret") {
		t.Error("the line itself was changed")
	}
}
