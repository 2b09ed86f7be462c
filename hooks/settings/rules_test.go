package settings

import (
	"slices"
	"strings"
	"testing"
)

// TestForbiddingRules: an invalid deny or ask rule forbids at least what it was meant to
// forbid, or is reported as unreadable; an invalid allow rule allows nothing.
func TestForbiddingRules(t *testing.T) {
	for text, want := range map[string]struct {
		rules      string // of the list
		unreadable int
	}{
		`["Bash(git push*)", "Edit"]`: {"Bash(git push*) Edit", 0},
		`["Bash(git push*"]`:          {"Bash", 0},
		`["Edit(a\u0000b)"]`:          {"Edit", 0},
		`["mcp__x__*(y"]`:             {"mcp__x__*", 0},
		`"Bash"`:                      {"Bash", 0},
		`"Bash(x"`:                    {"Bash", 0},
		`["*"]`:                       {"", 1},
		`["Bash git push", ""]`:       {"", 2},
		`["(x)"]`:                     {"", 1},
		`[7, "Read"]`:                 {"Read", 1},
		`[null]`:                      {"", 1},
		`null`:                        {"", 1},
		`{}`:                          {"", 1},
		`[]`:                          {"", 0},
	} {
		for _, list := range []string{"deny", "ask"} {
			file, warnings := Parse("f", []byte(`{"permissions": {"`+list+`": `+text+`}}`))
			got := file.Permissions.Deny
			if list == "ask" {
				got = file.Permissions.Ask
			}
			if strings.Join(got, " ") != want.rules || len(file.Permissions.Unreadable) != want.unreadable {
				t.Errorf("%s %s: %q, unreadable %q", list, text, got, file.Permissions.Unreadable)
			}
			for _, u := range file.Permissions.Unreadable {
				if !slices.ContainsFunc(warnings, func(w error) bool { return w.Error() == u }) {
					t.Errorf("%s %s: no warning says %s", list, text, u)
				}
			}
		}
		file, _ := Parse("f", []byte(`{"permissions": {"allow": `+text+`}}`))
		if len(file.Permissions.Unreadable) != 0 {
			t.Errorf("allow %s: %q", text, file.Permissions.Unreadable)
		}
		for _, rule := range file.Permissions.Allow {
			if !strings.Contains(want.rules, rule) || !strings.Contains(text, `"`+rule+`"`) {
				t.Errorf("allow %s lets %q pass", text, rule)
			}
		}
	}
	if file, _ := Parse("f", []byte(`{"permissions": 7}`)); len(file.Permissions.Unreadable) != 1 {
		t.Errorf("permissions: 7 is %+v", file.Permissions)
	}
}
