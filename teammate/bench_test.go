package teammate

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/teammate/agent"
)

// BenchmarkTurnEnd measures the gates of one turn end: with no hooks, and with
// one hook each on Stop, TaskCompleted and TeammateIdle, held against a bare
// spawn of the same three processes in the same round. Ratios of one round are
// the only figures to trust on a busy machine; x-bare is their median.
func BenchmarkTurnEnd(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	b.Run("hooks=0", func(b *testing.B) {
		m := benchMember(b, nil)
		b.ReportAllocs()
		for b.Loop() {
			endOnce(b, m)
		}
	})
	b.Run("hooks=3", func(b *testing.B) {
		group := []hooks.Group{{Hooks: []hooks.Handler{{Type: "command", Command: program, Args: []string{}}}}}
		m := benchMember(b, hooks.Settings{hooks.Stop: group, hooks.TaskCompleted: group, hooks.TeammateIdle: group})
		var ratios []float64
		for b.Loop() {
			began := time.Now()
			endOnce(b, m)
			ours := time.Since(began)
			began = time.Now()
			for range 3 {
				spawn(b, program)
			}
			ratios = append(ratios, float64(ours)/float64(time.Since(began)))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "x-bare")
	})
}

func benchMember(b *testing.B, section hooks.Settings) *Teammate {
	b.Helper()
	r := newRig(b)
	hookRunner, err := runner.New([]settings.Source{{Settings: section}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.opts.Hooks = hookRunner
	r.opts.Sink = func(events.Event) {}
	r.inProgress("1")
	return r.member(b)
}

func endOnce(b *testing.B, m *Teammate) {
	v, err := (&turn{t: m, at: m.hookContext(1, ""), lastText: "done"}).endTurn(context.Background())
	if err != nil || v.Decision != Passed {
		b.Fatal(v, err)
	}
}

// spawn runs a program as a hook runs at least: a process with its input on
// stdin and two pipes that are read to their end.
func spawn(b *testing.B, program string) {
	cmd := exec.Command(program)
	cmd.Stdin = bytes.NewReader(make([]byte, 400))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRecord measures what a message costs on its way to the transcript.
func BenchmarkRecord(b *testing.B) {
	r := newRig(b)
	r.opts.Sink = func(events.Event) {}
	api := r.member(b)
	run := &agentRun{u: &turn{t: api, at: api.hookContext(1, "")}}
	m := agent.Record{Message: agent.TextMessage(agent.Assistant, "a sentence of some length, as agents write them")}
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Record(m); err != nil {
			b.Fatal(err)
		}
	}
}
