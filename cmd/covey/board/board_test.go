package board

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// patience is how long a test waits for what must happen at once.
const patience = 2 * time.Minute

// terminal is a terminal of 80 by 24: the program's end, ours, and a function that waits until a text
// was printed.
func terminal(t *testing.T) (s *term.Screen, ours *os.File, printed func(text string) bool) {
	t.Helper()
	ours, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal here: %v", err)
	}
	if err := pty.Setsize(ours, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	pieces, read := make(chan string, 10_000), make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			pieces <- string(buf[:n])
		}
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = ours.Close()
		<-read
	})
	all := ""
	return &term.Screen{Writer: tty, File: tty}, ours, func(text string) bool {
		late := time.After(patience)
		for !strings.Contains(ansi.Strip(all), text) {
			select {
			case piece := <-pieces:
				all += piece
			case <-late:
				return false
			}
		}
		return true
	}
}

// TestRunOfStoppedTeam: the board of a team without a process shows its journal, and ends with the
// key that leaves it; nothing was asked of anybody.
func TestRunOfStoppedTeam(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteJournal(t, place, append(played(), teamtest.Line(60, "", "team_ended", `{"reason":"told to stop","exit_code":1}`))...)
	s, ours, printed := terminal(t)
	go func() {
		if !printed("ended: told to stop") || !printed(readOnly) {
			t.Error("the end of the team is not shown")
		}
		_, _ = ours.WriteString("hq")
	}()
	runs, err := Board{Place: place, Do: func(context.Context, Act) (string, error) {
		t.Error("the board asks a team that does not run")
		return "", nil
	}}.Run(t.Context(), s.File, s)
	if runs || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
}

// TestRunEnds: the end of the context ends the board and all of its readers, and is no error.
func TestRunEnds(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	s, _, printed := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if !printed("has never run") {
			t.Error("a team that has never run is not shown")
		}
		cancel()
	}()
	if runs, err := (Board{Place: place}).Run(ctx, s.File, s); runs || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
}

// TestTray: what arrives is taken once, a new journal drops what came before it, and a terminal
// that does not read keeps a bounded number of rows, after which the log begins anew.
func TestTray(t *testing.T) {
	var arrived tray
	line := func(n int) events.Line { return teamtest.Line(n, "api", "text", fmt.Sprintf(`{"text":"%d"}`, n)) }
	takes := func(rows int, fresh bool) {
		t.Helper()
		var n news
		if arrived.take(&n); len(n.rows) != rows || n.fresh != fresh {
			t.Errorf("%d rows, fresh %v; want %d, %v", len(n.rows), n.fresh, rows, fresh)
		}
	}
	arrived.add(line(1).Event())
	arrived.add(line(2).Event())
	takes(2, false)
	arrived.add(line(3).Event())
	arrived.clear()
	arrived.add(line(1).Event())
	takes(1, true)
	takes(0, false)
	arrived.rows = make([]*logRow, maxWaiting)
	arrived.add(line(4).Event())
	takes(maxWaiting-maxWaiting/10+1, true)
}
