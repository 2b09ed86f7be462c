package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// largeBoard returns the board of a team of 200 members with 1,000 tasks.
func largeBoard() (*board, *termview.Feed) {
	b, f := testBoard()
	for _, l := range teamtest.BusyDay(15_001, 200) {
		f.Change(func(s *view.State) { s.Apply(l.Event()) })
	}
	return b, f
}

// work lets one of the members of a team do something.
func work(f *termview.Feed, i int) { f.Change(func(s *view.State) { s.Apply(works(s, i).Event()) }) }

// works returns the next line of a team, of one of its members.
func works(s *view.State, i int) events.Line {
	return teamtest.Line(int(s.Seq)+1, fmt.Sprintf("m%d", i%200), "tool_call",
		fmt.Sprintf(`{"id":"x%d","name":"Bash","input":{"command":"go test -run %d"}}`, i, i))
}

// BenchmarkTick draws what has changed for a viewer after the lines of a third of a second, at 50
// lines a second.
func BenchmarkTick(b *testing.B) {
	board, f := largeBoard()
	_, seen, err := board.all()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for range 15 {
			work(f, n)
			n++
		}
		board.due = time.Time{} // a viewer has waited
		html, now, _, err := board.since(seen)
		if err != nil || html == "" {
			b.Fatal(html, err)
		}
		seen = now
		b.ReportMetric(float64(len(html)), "bytes")
	}
}

// TestTick: a viewer of a large team gets the rows that have changed and no others, and the time until
// the next drawing is a multiple of what the last one took.
func TestTick(t *testing.T) {
	board, f := largeBoard()
	_, seen, err := board.all()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		work(f, i)
	}
	began := time.Now()
	html, now, _, err := board.since(seen)
	took := time.Since(began)
	if n := strings.Count(html, "<hx-partial"); err != nil || n > 6 || !strings.Contains(html, `hx-target="#member-m0"`) {
		t.Errorf("%d parts, %v: %s", n, err, html)
	}
	if wait := board.wait(); wait < termview.Gather || wait > max(termview.Gather, min(share*took, longWait)) {
		t.Errorf("a viewer waits %v after a drawing of %v", wait, took)
	}
	work(f, 3)
	board.due = time.Now().Add(time.Hour)
	if again, version, _, err := board.since(now); again != "" || version != now || err != nil {
		t.Errorf("it is drawn before its time: %s, %v", again, err)
	}
	if _, version, err := board.all(); version == now || err != nil {
		t.Errorf("who loads the page gets an old one: %v", err)
	}
}

// BenchmarkFirstPaint draws the whole page.
func BenchmarkFirstPaint(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		board, _ := largeBoard()
		b.StartTimer()
		if _, _, err := board.all(); err != nil {
			b.Fatal(err)
		}
	}
}
