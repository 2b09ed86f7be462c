//go:build unix

package tools

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFiles: Files visits the files that Glob finds.
func TestFiles(t *testing.T) {
	b := tree(t)
	var got []string
	if err := Files(t.Context(), b.root, func(path string) error {
		got = append(got,
			path)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := ".gitignore .hidden/conf.yaml alias.go binary cmd/tool/main.go docs/guide.md etc latin.txt main.go run.go windows.txt"
	if list := strings.Join(got, " "); list != want {
		t.Errorf("found %s", list)
	}
	enough := errors.New("enough")
	if err := Files(t.Context(), b.root, func(string) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("ended with %v", err)
	}
	if err := Files(t.Context(), b.root+"/nowhere", func(string) error { return nil }); err == nil {
		t.Error("a folder that is not there has files")
	}
}

// TestLingers: HasBackground reports processes of background runs, and those that commands
// have left running, until they have ended.
func TestLingers(t *testing.T) {
	b := newBench(t, nil)
	if b.ok("Bash", fields{"command": "true"}); b.tools.HasBackground() {
		t.Error("nothing was left, and something lingers")
	}
	release := b.fifo("gate")
	id := b.background("read x <gate")
	if !b.tools.HasBackground() {
		t.Error("a background run does not linger")
	}
	release()
	b.ended(id)
	b.ok("Bash", fields{"command": "(read x <gate) >/dev/null 2>&1 &"})
	if !b.tools.HasBackground() {
		t.Skip("this system does not tell of processes that were left behind")
	}
	release()
	gone := func() {
		for end := time.Now().Add(2 * time.Minute); b.tools.HasBackground(); {
			if time.Now().After(end) {
				t.Fatal("what has ended lingers")
			}
			time.Sleep(time.Millisecond)
		}
	}
	gone()
	// What was left is ended by its number.
	pid := regexp.MustCompile(`still running: process (\d+)`).FindStringSubmatch(b.ok("Bash", fields{"command": "sleep 3600 >/dev/null 2>&1 &"}))
	if pid == nil {
		t.Fatal("the command does not name what it has left running")
	}
	b.shows("KillShell", fields{"shell_id": pid[1]}, "process "+pid[1]+" has ended, with what its command has left running besides")
	gone()
	b.fails("KillShell", fields{"shell_id": pid[1]})
}
