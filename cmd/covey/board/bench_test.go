package board

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// BenchmarkKeyToFrame is what a key costs until its frame is drawn, on the board of a team whose
// log has a hundred thousand rows. It reports the 95th of a hundred, too.
func BenchmarkKeyToFrame(b *testing.B) {
	s, _ := teamtest.Screen()
	s.Color = true
	board := &boardOf{model: newModel(s, "crew"), up: true}
	for _, l := range played() {
		l.Seq = board.state.Seq + 1
		board.state.Apply(l.Event())
	}
	line := teamtest.Line(1, "api", "tool_result", `{"content":"ok  \tgithub.com/coveyteam/covey/cmd/covey/view\t0.9s\nok\nok"}`)
	n := news{scene: board.look(members.Drafting{})}
	for i := range 100_000 {
		line.Seq = uint64(i + 100)
		n.rows = append(n.rows, newLogRow(line.Event()))
	}
	board.model.take(n)
	board.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	keys := []string{"2", "down", "down", "pgup", "shift+up", "ctrl+home", "pgdown", "4", "enter",
		"pgup", "esc", "/", "o", "k", "esc", "end", "?", "esc", "3", "tab"}
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		name := keys[i%len(keys)]
		key, ok := named[name]
		if !ok {
			key = tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		}
		start := time.Now()
		board.Update(key)
		_ = board.View()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}
