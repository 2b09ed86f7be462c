package writes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestSince: between two snapshots everything that anybody has done to a path is found,
// and nothing that leaves it as it was, whatever was changed before.
func TestSince(t *testing.T) {
	for name, tt := range map[string]struct{ before, do, want string }{
		"nothing":           {"true", "true", ""},
		"touched":           {"echo 2 >main", "touch main docs/a", ""},
		"written as it was": {"echo 2 >main", "echo 2 >main; echo a >docs/a", ""},
		"changed":           {"true", "echo 2 >main", "main"},
		"changed again":     {"echo 2 >main", "echo 3 >main", "main"},
		"put back":          {"echo 2 >main", "echo m >main", "main"},
		"new":               {"true", "mkdir d; echo n >d/n", "d/n"},
		"deleted":           {"true", "rm main", "main"},
		"deleted before":    {"rm main", "echo m >main", "main"},
		"renamed":           {"true", "mv docs texts", "docs/a texts/a"},
		"mode":              {"true", "chmod +x main", "main"},
		"link":              {"ln -s a l", "ln -sf b l", "l"},
		"to link":           {"true", "rm main; ln -s docs/a main", "main"},
		"ignored":           {"true", "echo x >x.log", ""},
		"times forged":      {"echo 22 >main", "touch -r main .ref; echo 33 >main; touch -r .ref main; rm .ref", "main"},
	} {
		t.Run(name, func(t *testing.T) {
			folders(t, func(t *testing.T, g *Folder) {
				testkit.Shell(t, g.Dir, tt.before)
				first := take(t, g, Snapshot{})
				testkit.Shell(t, g.Dir, tt.do)
				then := take(t, g, first)
				if got := strings.Join(then.Since(first), " "); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
				if again := take(t, g, then).Since(then); len(again) > 0 {
					t.Errorf("nothing has happened since, and %q was found", again)
				}
			})
		})
	}
}

// TestSinceCommits: what somebody commits is found by what it has changed on disk, and
// what was only committed has not been written.
func TestSinceCommits(t *testing.T) {
	folders(t, func(t *testing.T, g *Folder) {
		if g.Repo == nil {
			return
		}
		testkit.Shell(t, g.Dir, "echo 2 >docs/a")
		first := take(t, g, Snapshot{})
		testkit.Shell(t, g.Dir, "echo 2 >main; git add -A; git commit -qm two")
		then := take(t, g, first)
		if got := then.Since(first); !slices.Equal(got, []string{"main"}) {
			t.Errorf("found %q", got)
		}
		testkit.Shell(t, g.Dir, "git reset -q HEAD~1")
		if got := take(t, g, then).Since(then); len(got) > 0 {
			t.Errorf("no file has changed, and %q was found", got)
		}
	})
}

// TestSnapshotIsKept: a snapshot that was written down and read again says the same.
func TestSnapshotIsKept(t *testing.T) {
	folders(t, func(t *testing.T, g *Folder) {
		testkit.Shell(t, g.Dir, "echo 2 >main; rm docs/a")
		first := take(t, g, Snapshot{})
		data, err := json.Marshal(first)
		testkit.Must(t, err)
		var kept Snapshot
		testkit.Must(t, json.Unmarshal(data, &kept))
		if got := take(t, g, kept).Since(kept); len(got) > 0 {
			t.Errorf("nothing has happened, and %q was found", got)
		}
	})
}

// TestExcept: a folder that is nobody's business is not looked at, and one beside it is.
func TestExcept(t *testing.T) {
	folders(t, func(t *testing.T, g *Folder) {
		g.Except = "docs/state"
		first := take(t, g, Snapshot{})
		testkit.Shell(t, g.Dir, "mkdir -p docs/state/deep; echo 1 >docs/state/deep/f; echo 1 >docs/states")
		if got := take(t, g, first).Since(first); !slices.Equal(got, []string{"docs/states"}) {
			t.Errorf("found %q", got)
		}
	})
}

// TestTooLarge: a folder with too many files says so, and how it can be helped.
func TestTooLarge(t *testing.T) {
	g := &Folder{Dir: t.TempDir(), Walk: func(_ context.Context, visit func(string) error) error {
		for i := 0; ; i++ {
			if err := visit(fmt.Sprint(i)); err != nil {
				return err
			}
		}
	}}
	_, err := g.Take(t.Context(), Snapshot{})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "git init") {
		t.Errorf("%v", err)
	}
}

// TestLargeFiles: of a file that is too large to be read the kernel's word counts.
func TestLargeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	testkit.Must(t, os.WriteFile(path, make([]byte, maxSum+1), 0o600))
	p := printOf(path, Print{})
	if p.Sum != "" || !p.Same(printOf(path, p)) {
		t.Errorf("%+v", p)
	}
	time.Sleep(40 * time.Millisecond) // until the clock of files has ticked
	testkit.Must(t, os.Chtimes(path, p.Time, p.Time))
	if p.Same(printOf(path, p)) {
		t.Error("somebody has touched it, and nobody can say that it is the same")
	}
}
