package rules

import (
	"os"
	"strings"
	"testing"
)

// commandsOf are the command lines of a file, one a line; a line of theirs ends
// in a return sign.
func commandsOf(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, command := range commands {
		commands[i] = strings.ReplaceAll(command, "⏎", "\n")
	}
	return commands
}

// TestPushIsCaught: a deny rule catches its command however it is written. A
// command that is not literal where the rule is counts as a match.
func TestPushIsCaught(t *testing.T) {
	ways := commandsOf(t, "push.txt")
	if len(ways) < 133 {
		t.Errorf("only %d ways are tried", len(ways))
	}
	for _, spec := range []string{"Bash(git push*)", "Bash(git push:*)", "Bash(git push *)"} {
		rule := mustRule(t, spec)
		for _, command := range ways {
			if !rule.Forbids(bashCall(command)) {
				t.Errorf("%s does not catch %q", spec, command)
			}
		}
	}
}

// TestEverydayPasses: a deny rule leaves alone what has nothing to do with it.
func TestEverydayPasses(t *testing.T) {
	commands := commandsOf(t, "everyday.txt")
	if len(commands) < 60 {
		t.Errorf("only %d commands are tried", len(commands))
	}
	for _, spec := range []string{"Bash(git push*)", "Bash(git push:*)", "Bash(git push --force*)"} {
		rule := mustRule(t, spec)
		for _, command := range commands {
			if rule.Forbids(bashCall(command)) {
				t.Errorf("%s catches %q", spec, command)
			}
		}
	}
}

// TestTextPasses: words that a program does not start are no command, whatever they say.
func TestTextPasses(t *testing.T) {
	rule := mustRule(t, "Bash(git push*)")
	for _, command := range commandsOf(t, "text.txt") {
		if rule.Forbids(bashCall(command)) {
			t.Errorf("%s catches %q, for %q", rule, command, rule.Part(bashCall(command)))
		}
	}
}

// TestWildcardFirst: a rule that begins with a wildcard catches its words anywhere, but not all that a variable
// may be.
func TestWildcardFirst(t *testing.T) {
	rule := mustRule(t, "Bash(*--force*)")
	for _, command := range []string{"git push --force", "x; npm i --force", "sh -c 'git push --force'", `git push "$x" --force-with-lease`,
		`git push --for"$x"`, "$X --force", "$X"} {
		if !rule.Forbids(bashCall(command)) {
			t.Errorf("%s does not catch %q", rule, command)
		}
	}
	for _, command := range []string{"echo $HOME", `git diff "$f"`, "ls *.go", "git ls-files | xargs wc -l", "go test $PKG"} {
		if rule.Forbids(bashCall(command)) {
			t.Errorf("%s catches %q", rule, command)
		}
	}
}
