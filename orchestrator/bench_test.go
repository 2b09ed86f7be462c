package orchestrator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// BenchmarkIdleMembers measures what an idle member costs: a team of 1,000
// scripted members is started, and once all of them are idle the heap, the
// stacks and the goroutines are compared with a team of one. open-ms is the time until then,
// first start of the team.
func BenchmarkIdleMembers(b *testing.B) {
	const members = 1000
	for b.Loop() {
		one, many := restingTeam(b, 1, anyLoad), restingTeam(b, members, anyLoad)
		b.ReportMetric(float64(many.bytes-one.bytes)/(members-1), "B/member")
		b.ReportMetric(float64(many.goroutines-one.goroutines)/(members-1), "goroutines/member")
		b.ReportMetric(float64(many.opened.Milliseconds()), "open-ms")
	}
}

// load is what a team takes.
type load struct {
	bytes      int64
	goroutines int
	opened     time.Duration // until all members had begun and were idle
}

// TestIdleMembersCostLittle: members at rest have no goroutine, and a few kilobytes each.
// The goal is 5 KiB, and 6 are taken when nothing else runs; more is allowed here, because other tests'
// garbage is counted too.
func TestIdleMembersCostLittle(t *testing.T) {
	const members = 200
	one := restingTeam(t, 1, anyLoad)
	cost := func(many load) (each int64, more int) {
		return (many.bytes - one.bytes) / (members - 1), many.goroutines - one.goroutines
	}
	little := func(many load) bool {
		each, more := cost(many)
		return each <= 10<<10 && more <= members/20
	}
	// What is still being written costs something, too, but not for long.
	if many := restingTeam(t, members, little); !little(many) {
		each, more := cost(many)
		t.Errorf("an idle member costs %d bytes, and %d members more have %d goroutines more", each, members-1, more)
	}
}

// anyLoad accepts the first measurement of restingTeam.
func anyLoad(load) bool { return true }

// restingTeam starts a team, waits until everybody is idle, measures, and ends it. It
// measures again until enough accepts the result, or gives up.
func restingTeam(b testing.TB, members int, enough func(load) bool) load {
	b.Helper()
	b.Setenv("COVEY_STATE_HOME", b.TempDir())
	dir := b.TempDir()
	var spec strings.Builder
	spec.WriteString("covey: 1\nname: crew\nmodels: {m: {provider: script, script: s.yaml}}\n" +
		"agents: {a: {use: builtin, model: m}}\nlead: a\nkeep: true\nteammates:\n")
	for i := range members {
		fmt.Fprintf(&spec, "  m%d: a\n", i)
	}
	for name, text := range map[string]string{"team.yaml": spec.String(), "s.yaml": "steps: []\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	up := make(chan state.Place, 1)
	o, err := orchestrator.New(team, orchestrator.Options{OnUp: func(p state.Place) { up <- p }})
	if err != nil {
		b.Fatal(err)
	}
	before, begun := measured(), time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := o.Run(ctx)
		done <- err
	}()
	c, err := api.Dial(ctx, <-up)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.WaitUp(ctx); err != nil {
		b.Fatal(err)
	}
	for atWork := true; atWork; { // the last one may have only just begun
		status, err := c.Status(ctx)
		if err != nil {
			b.Fatal(err)
		}
		atWork = slices.ContainsFunc(status.Members, func(m api.MemberStatus) bool { return m.State != "idle" })
	}
	opened := time.Since(begun)
	takes := measured().since(before, opened)
	for limit := time.Now().Add(testkit.Patience); !enough(takes) && time.Now().Before(limit); {
		time.Sleep(10 * time.Millisecond)
		takes = measured().since(before, opened)
	}
	if err := c.Close(); err != nil {
		b.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	return takes
}

// since returns what was added to an earlier measurement.
func (l load) since(before load, opened time.Duration) load {
	return load{l.bytes - before.bytes, l.goroutines - before.goroutines, opened}
}

func measured() load {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return load{bytes: int64(m.HeapAlloc + m.StackInuse), goroutines: runtime.NumGoroutine()}
}
