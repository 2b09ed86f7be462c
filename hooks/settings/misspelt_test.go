package settings

import (
	"strings"
	"testing"
)

// TestMisspeltInSettings: a rule for an unknown tool stays in its list, with a warning
// that has its line.
func TestMisspeltInSettings(t *testing.T) {
	const text = `{
  "hooks": {},
  "permissions": {
    "allow": ["Read", {"a": [1]}, "mcp__x__*"],
    "deny": [
      "Bash(a*)",
      "Bsh(git push*)", "Quokka(x)"
    ]
  }
}`
	file, warnings := Parse("s.json", []byte(text))
	if len(file.Permissions.Deny) != 3 {
		t.Errorf("deny: %q", file.Permissions.Deny)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Error())
	}
	want := []string{"s.json:4: permissions.allow[1]: want a string",
		`s.json:7: permissions.deny[1]: there is no tool Bsh, so the rule "Bsh(git push*)" has no effect: write Bash`,
		`s.json:7: permissions.deny[2]: covey knows no tool Quokka`}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}
