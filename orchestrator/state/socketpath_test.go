package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

func TestSocketPath(t *testing.T) {
	short := t.TempDir()
	if got := socketPath(short, "ana"); got != filepath.Join(short, "sockets", "ana", "covey.sock") {
		t.Errorf("socketPath of a short path = %s", got)
	}
	long := "/" + strings.Repeat("long/", 40) + "team-00000000"
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	got := socketPath(long, "ana")
	if filepath.Dir(filepath.Dir(got)) != run || got != socketPath(long, "ana") || got == socketPath(long+"x", "ana") || got == socketPath(long, "bob") {
		t.Errorf("socketPath of a long path = %s", got)
	}
	for name, runtime := range map[string]string{"none": "", "relative": "x", "long": "/" + strings.Repeat("r", 100)} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", runtime)
			t.Setenv("TMPDIR", "/tmp")
			if got := socketPath(long, strings.Repeat("m", 32)); filepath.Dir(filepath.Dir(got)) != "/tmp" || len(got) > maxSocketPath {
				t.Errorf("socketPath = %s, want one in /tmp", got)
			}
		})
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", "/"+strings.Repeat("t", 100))
	if got := socketPath(long, "ana"); len(got) > maxSocketPath {
		t.Errorf("socketPath = %s is too long", got)
	}
}

// TestClearSockets: what a killed run has left goes, wherever it is, and nothing of another team.
func TestClearSockets(t *testing.T) {
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	short, long := t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long/", 40), "team-00000000")
	var gone []string
	for _, p := range []Place{{Dir: short}, {Dir: long}} {
		for _, socket := range []string{p.Socket(), p.MemberSocket(""), p.MemberSocket("ana")} {
			testkit.Must(t, os.MkdirAll(filepath.Dir(socket), 0o700))
			testkit.Must(t, os.WriteFile(socket, nil, 0o600))
			gone = append(gone, filepath.Dir(socket))
		}
	}
	other := Place{Dir: long + "x"}.MemberSocket("ana")
	testkit.Must(t, os.MkdirAll(filepath.Dir(other), 0o700))
	testkit.Must(t, errors.Join(Place{Dir: short}.ClearSockets(), Place{Dir: long}.ClearSockets()))
	for _, dir := range gone {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(other)); err != nil {
		t.Errorf("of another team: %v", err)
	}
}

// TestFindFromASandbox: a process of a member finds its team where the state cannot be read.
func TestFindFromASandbox(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	place, err := PlaceIn(home, "crew", work)
	testkit.Must(t, err)
	t.Setenv("COVEY_STATE_HOME", filepath.Join(home, "a file", "below"))
	testkit.Must(t, os.WriteFile(filepath.Join(home, "a file"), nil, 0o600))
	for name, value := range map[string]string{
		RunVariable: place.Dir, "COVEY_TEAM": "crew", "COVEY_WORKSPACE": place.Workspace, SocketVariable: "/s/covey.sock",
	} {
		t.Setenv(name, value)
	}
	if p, socket, ok := Inside(); p != place || socket != "/s/covey.sock" || !ok {
		t.Errorf("Inside = %+v, %s, %v", p, socket, ok)
	}
	for _, team := range []string{"", "crew"} {
		if found, err := Find(work, team); err != nil || found != place {
			t.Errorf("Find %q: %+v, %v", team, found, err)
		}
	}
	if found, err := Find(work, "other"); err == nil {
		t.Errorf("another team: %+v", found)
	}
	t.Setenv("COVEY_TEAM", "other") // does not fit the folder
	if found, err := Find(work, ""); err == nil {
		t.Errorf("an environment that contradicts itself: %+v", found)
	}
}
