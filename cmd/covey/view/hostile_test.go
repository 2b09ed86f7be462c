package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
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

// TestHostileViews: whatever is in any text of a team, logs, the live view and attach show it as plain
// as it looks, and within the width of the screen.
func TestHostileViews(t *testing.T) {
	for _, payload := range teamtest.Payloads() {
		b := newBoard("crew", []string{payload}, teamtest.Line(0, "", "", "").Time)
		s, out := teamtest.Screen()
		print, p := LinePrinter(s, false), newPager(s, "m0 of crew", nil)
		p.width, p.height = 60, 24
		for _, l := range hostileLines(t, payload) {
			b.apply(l.Event())
			p.add(NewRow(l.Event()))
			if err := print(l); err != nil {
				t.Fatal(err)
			}
		}
		b.drafts = []lives.Draft{{Member: "m0" + payload, Text: payload}}
		p.log.SetDrafts(lives.Drafting{Seq: 99, Drafts: []lives.Draft{{Member: payload, Helper: payload, Text: payload, Cut: true}}})
		teamtest.CheckPlain(t, "logs: "+payload, out.String())
		teamtest.CheckPlain(t, "live view: "+payload, strings.Join(b.draw(s, 60, 24, b.started), "\n"))
		teamtest.CheckPlain(t, "attach: "+payload, p.view())
	}
}

// TestLongLine: a line of ten megabytes is one line of the live view.
func TestLongLine(t *testing.T) {
	data, _ := json.Marshal(map[string]string{"text": teamtest.LongPayload()}) // a string can be encoded
	l := teamtest.Line(1, "m0", "text", string(data))
	b := newBoard("crew", []string{"m0"}, l.Time)
	b.apply(l.Event())
	s, _ := teamtest.Screen()
	text := strings.Join(b.draw(s, 60, 24, l.Time), "\n")
	if teamtest.CheckPlain(t, "a long line", text); len(text) > 10_000 {
		t.Errorf("the live view has %d bytes", len(text))
	}
}
