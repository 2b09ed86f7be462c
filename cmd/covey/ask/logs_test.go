package ask

import (
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestLogsOfATail: the last entries are entries that tell something, unless
// JSON is wanted.
func TestLogsOfATail(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteJournal(t, place,
		teamtest.Line(0, "ana", "text", `{"text":"one"}`), teamtest.Line(0, "ana", "text", `{"text":"two"}`),
		teamtest.Line(0, "ana", "hook_started", `{"event":"Stop"}`), teamtest.Line(0, "ana", "message_delivered", `{"id":"m"}`))
	all := func(events.Event) bool { return true }
	for _, tc := range []struct {
		name  string
		flags logFlags
		want  []string
		not   string
	}{
		{"the last", logFlags{lines: 1}, []string{"two"}, "one"},
		{"more than there are", logFlags{lines: 50}, []string{"one", "two"}, "Stop"},
		{"all", logFlags{}, []string{"one", "two"}, "Stop"},
		{"the last in JSON", logFlags{lines: 2, json: true}, []string{"hook_started", "message_delivered"}, "two"},
		{"following a team that does not run", logFlags{lines: 1, follow: true}, []string{"two"}, "one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, out, _ := program()
			if err := printLogs(t.Context(), c, place, tc.flags, all); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if strings.Count(out.String(), want) != 1 {
					t.Errorf("%q is not there once in\n%s", want, out)
				}
			}
			if strings.Contains(out.String(), tc.not) {
				t.Errorf("%q is in\n%s", tc.not, out)
			}
		})
	}
}

// TestLogsOfDamage: damaged lines are told of on stderr, and the rest is shown.
func TestLogsOfDamage(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	c, _, _ := program()
	all := func(events.Event) bool { return true }
	if err := printLogs(t.Context(), c, place, logFlags{}, all); err == nil ||
		!strings.Contains(err.Error(), "no journal yet") {
		t.Errorf("no journal: %v", err)
	}
	text := "{\"seq\":1,\"type\":\"text\",\"data\":{\"text\":\"one\"}}\nnot JSON \x1b[2J\n{\"seq\":2,\"type\":\"text\",\"data\":{\"text\":\"two\"}}\n"
	if err := os.WriteFile(place.Journal(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, out, errOut := program()
	if err := printLogs(t.Context(), c, place, logFlags{}, all); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "one") || !strings.Contains(out.String(), "two") {
		t.Errorf("printed %q", out)
	}
	if !strings.Contains(errOut.String(), "damaged line at byte") ||
		strings.Contains(errOut.String(), "\x1b") {
		t.Errorf("stderr %q", errOut)
	}
}

func TestDeliveryText(t *testing.T) {
	for _, tc := range []struct {
		d        api.Delivery
		to, want string
	}{
		{api.Delivered, "ana", "delivered to ana"},
		{api.Queued, "ana", "queued for ana: stored; it is read as soon as that can be"},
		{api.Delivered, "*", "delivered to everybody"},
		{api.Queued, "a\x1b", `queued for a\x1b: stored; it is read as soon as that can be`},
	} {
		if got := deliveryText(tc.d, tc.to); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
