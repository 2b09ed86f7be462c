package teamtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// StartBench starts the team of team.yaml, and returns a client of it once it is up.
func StartBench(b *testing.B, files map[string]string, see func(events.Line)) *api.Client {
	b.Helper()
	b.Setenv("COVEY_STATE_HOME", b.TempDir())
	home := b.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	spec, err := configs.Load(filepath.Join(home, "team.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	up, done := make(chan state.Place, 1), make(chan error, 1)
	o, err := orchestrator.New(spec, orchestrator.Options{OnUp: func(p state.Place) { up <- p }, OnLine: see})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := o.Run(ctx)
		done <- err
	}()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	client, err := api.Dial(ctx, <-up)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() }) // the team's end is what counts
	if _, err := client.WaitUp(ctx); err != nil {
		b.Fatal(err)
	}
	return client
}

// LookPrompt has the worker look at something, as a turn without a task.
const LookPrompt = "Look around."

// ReportTimes reports the median and the slowest percent of what was measured.
func ReportTimes(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(Quantile(took, 50), what+"-p50-µs")
	b.ReportMetric(Quantile(took, 99), what+"-p99-µs")
}

// Quantile is the time in microseconds within which that share of a sorted list lies, in percent.
func Quantile(list []time.Duration, share int) float64 {
	return float64(list[len(list)*share/100].Microseconds())
}
