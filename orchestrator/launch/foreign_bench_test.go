package launch_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// BenchmarkProgramTurn measures what a turn of an agent program costs beside the
// program: in one run, turn by turn, a member of a team that runs whole (store,
// journal, transcript, permission, gates without hooks), and the same program
// alone on a bare JSON-RPC loop. All figures are medians; the bar is 2 ms for
// what is our own. In each turn the program speaks, asks for a tool call, makes
// it and answers. From the turn's begin to its end there is one commit of the
// store, which is told as well: that the mail was delivered.
func BenchmarkProgramTurn(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fault.json"), texts.Encode(fault{Quiet: true}), 0o600); err != nil {
		b.Fatal(err)
	}
	alone, team, store := startAlone(b, dir), startTimed(b, map[string]string{
		"team.yaml": crowdSpec(os.Args[0], dir, 1, 0) + "keep: true\n", "lead.yaml": teamtest.LeadLetsWork,
	}), commits(b)
	var bare, full, wake, commit []time.Duration
	for b.Loop() {
		bare = append(bare, testkit.Timed(b, func() error { return alone.prompt(teamtest.LookPrompt) }))
		turn, woken := team.turn(b)
		full, wake = append(full, turn), append(wake, woken)
		commit = append(commit, testkit.Timed(b, store))
	}
	b.ReportMetric(0, "ns/op") // the sum of all says nothing
	b.ReportMetric(testkit.Micros(testkit.Median(bare)), "µs/program")
	b.ReportMetric(testkit.Micros(testkit.Median(full)-testkit.Median(bare)), "µs/turn-more")
	b.ReportMetric(testkit.Micros(testkit.Median(wake)), "µs/wake")
	b.ReportMetric(testkit.Micros(testkit.Median(commit)), "µs/commit")
	b.ReportMetric(float64(testkit.Median(full))/float64(testkit.Median(bare)), "ratio")
}

// commits gives a function that makes one small change of a store durable.
func commits(b *testing.B) func() error {
	b.Helper()
	store, err := tasks.Open(filepath.Join(b.TempDir(), "tasks.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	n := 0
	return func() error {
		n++
		return store.Put(b.Context(), "key", texts.Encode(n))
	}
}

// loneProgram is a worker that nobody looks after.
type loneProgram struct {
	in  io.Writer
	out *bufio.Reader
	ids int
}

// startAlone starts a worker and opens its session.
func startAlone(b *testing.B, dir string) *loneProgram {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // it ends by that
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	p := &loneProgram{in: in, out: bufio.NewReader(out)}
	for _, method := range []string{"initialize", "session/new"} {
		if err := p.call(method, map[string]any{"cwd": dir, "mcpServers": []any{}}); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

// prompt is one turn.
func (p *loneProgram) prompt(text string) error {
	return p.call("session/prompt", map[string]any{
		"sessionId": "s", "prompt": []map[string]string{{"type": "text", "text": text}},
	})
}

// call sends a request and reads until its answer. Whatever the program asks
// for is allowed.
func (p *loneProgram) call(method string, params any) error {
	p.ids++
	if err := p.send(map[string]any{"jsonrpc": "2.0", "id": p.ids, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m rpc
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch {
		case m.Method == "" && string(m.ID) == fmt.Sprint(p.ids):
			return nil
		case m.Method == "session/request_permission":
			yes := map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": "y"}}
			if err := p.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": yes}); err != nil {
				return err
			}
		}
	}
}

func (p *loneProgram) send(v any) error {
	_, err := p.in.Write(append(texts.Encode(v), '\n'))
	return err
}

// timedTeam is a team that stays up, with a member m0 whose turns are measured.
type timedTeam struct {
	client *api.Client
	began  time.Time // of the turn, by the journal
	ended  chan time.Time
}

// startTimed starts the team, and has the member take its first turn.
func startTimed(b *testing.B, files map[string]string) *timedTeam {
	b.Helper()
	t := &timedTeam{ended: make(chan time.Time, 1)}
	t.client = teamtest.StartBench(b, files, t.see)
	t.turn(b)
	return t
}

// see takes in a line of the journal. Lines come one after another.
func (t *timedTeam) see(l events.Line) {
	switch {
	case l.Member != "m0":
	case l.Type == "turn_started":
		t.began = l.Time
	case l.Type == "turn_ended":
		t.ended <- l.Time
	}
}

// turn has the member take a turn. It tells how long that took, and how long
// the mail that caused it had been on its way.
func (t *timedTeam) turn(b *testing.B) (took, woken time.Duration) {
	b.Helper()
	sent := time.Now()
	if _, err := t.client.Send(b.Context(), api.Send{To: "m0", Text: teamtest.LookPrompt}); err != nil {
		b.Fatal(err)
	}
	ended := <-t.ended
	return ended.Sub(t.began), t.began.Sub(sent)
}
