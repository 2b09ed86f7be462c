package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// aloneSpec is a team of one.
const aloneSpec = "covey: 1\nname: crew\ngoal: x\nlead: {agent: boss}\n"

// solo makes the Orchestrator of a team of one, whose agent is f.
func solo(t *testing.T, dir string, f teamtest.AgentFunc, edits ...func(*orchestrator.Options)) (*orchestrator.Orchestrator, *testkit.Log[events.Line]) {
	t.Helper()
	opts := orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(f)}}
	for _, edit := range edits {
		edit(&opts)
	}
	o, log, err := teamtest.NewGiven(t, dir, aloneSpec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return o, log
}

// chatty is an agent that records so many texts in one turn.
func chatty(texts int) teamtest.AgentFunc {
	return func(_ context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		for i := range texts {
			text := agent.Block{Type: agent.TextBlock, Text: fmt.Sprintf("%d %s", i, strings.Repeat("x", 500))}
			m := agent.Message{Role: agent.Assistant, Content: []agent.Block{text}}
			if err := h.Record(agent.Record{Message: m}); err != nil {
				return agent.Reply{}, err
			}
		}
		return agent.Reply{}, nil
	}
}

// numbers are the sequence numbers of lines.
func numbers(lines []events.Line) (out []uint64) {
	for _, l := range lines {
		out = append(out, l.Seq)
	}
	return out
}

// TestOwnJournal: any number of loops see all lines of the run, whenever they
// begin and however slow they are, and end with it; a second run shows its own
// lines alone.
func TestOwnJournal(t *testing.T) {
	teamtest.StateHome(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	for run := range 2 {
		const texts = 1500
		entered := make(chan struct{})
		var once sync.Once
		o, log := solo(t, dir, func(ctx context.Context, in []agent.Input, h agent.Host) (agent.Reply, error) {
			once.Do(func() { close(entered) })
			return chatty(texts)(ctx, in, h)
		}, func(o *orchestrator.Options) { o.Goal = fmt.Sprint("goal ", run) }) // else the second run has nothing to do
		var loops sync.WaitGroup
		read := make([][]uint64, 4)
		reader := func(i int, pause time.Duration) func() {
			return func() {
				got, errs := seqsOf(func(yield func(events.Line, error) bool) {
					for l, err := range o.Journal(t.Context()) {
						if time.Sleep(pause); !yield(l, err) {
							return
						}
					}
				})
				if len(errs) > 0 {
					t.Errorf("loop %d: %v", i, errs)
				}
				read[i] = got
			}
		}
		loops.Go(reader(0, 0))
		loops.Go(reader(1, 50*time.Microsecond)) // far slower than the team
		loops.Go(func() { <-entered; reader(2, 0)() })
		if ending, err := o.Run(t.Context()); err != nil || ending.Code != orchestrator.CodeDone {
			t.Fatalf("%+v, %v", ending, err)
		}
		loops.Wait()
		reader(3, 0)()
		want := numbers(log.All())
		if len(want) < texts {
			t.Fatalf("the journal has %d lines", len(want))
		}
		for i, got := range read {
			if !slices.Equal(got, want) {
				t.Errorf("run %d, loop %d: %d lines of %d", run, i, len(got), len(want))
			}
		}
	}
}

// TestOwnJournalDoesNotHoldUp: a loop that stands still does not keep the team
// from ending.
func TestOwnJournalDoesNotHoldUp(t *testing.T) {
	t.Parallel()
	o, log := solo(t, t.TempDir(), chatty(3000))
	first, ended := make(chan struct{}), make(chan struct{})
	var loop sync.WaitGroup
	lines := 0
	loop.Go(func() {
		for _, err := range o.Journal(t.Context()) {
			if lines++; lines == 1 {
				close(first)
				<-ended // not before the run is over
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-first
	close(ended)
	loop.Wait()
	if want := len(log.All()); lines != want {
		t.Errorf("%d lines of %d", lines, want)
	}
}

// TestOwnJournalEnds: a loop ends by its context, by a break, and with a run that
// never came to have a journal.
func TestOwnJournalEnds(t *testing.T) {
	teamtest.StateHome(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir, release := t.TempDir(), make(chan struct{})
	o, _ := solo(t, dir, func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
		<-release
		return agent.Reply{}, nil
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, errs := seqsOf(o.Journal(over)); len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0],
		context.Canceled) {
		t.Errorf("before the run: %v, %v", got, errs)
	}
	var run sync.WaitGroup
	run.Go(func() {
		if _, err := o.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for line, err := range o.Journal(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Type == "turn_started" {
			break
		}
	}
	within, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, errs := seqsOf(func(yield func(events.Line, error) bool) {
		for line, err := range o.Journal(within) {
			if line.Type == "turn_started" { // the last line for now: the member waits
				cancel()
			}
			if !yield(line, err) {
				return
			}
		}
	})
	if len(got) == 0 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("in the run: %v, %v", got, errs)
	}
	second, _ := solo(t, dir, teamtest.Quiet)
	var loop sync.WaitGroup
	loop.Go(func() { wantNumbers(t, second.Journal(t.Context())) })
	if _, err := second.Run(t.Context()); !errors.Is(err, state.ErrRunning) {
		t.Errorf("a second run: %v", err)
	}
	loop.Wait()
	close(release)
	run.Wait()
}

// TestJournalOfRunningTeam: from outside, a loop sees what was, goes on with what
// comes, and ends with the team.
func TestJournalOfRunningTeam(t *testing.T) {
	teamtest.StateHome(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	release, up := make(chan struct{}), make(chan struct{})
	o, log := solo(t, t.TempDir(), func(ctx context.Context, in []agent.Input, h agent.Host) (agent.Reply, error) {
		<-release
		return chatty(200)(ctx, in, h)
	}, func(o *orchestrator.Options) { o.OnUp = func(state.Place) { close(up) } })
	var run sync.WaitGroup
	run.Go(func() {
		if _, err := o.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-up
	now, errs := seqsOf(orchestrator.Journal(t.Context(), o.Place(), orchestrator.JournalOptions{}))
	if len(errs) > 0 {
		t.Error(errs)
	}
	var got []uint64
	for line, err := range orchestrator.Journal(t.Context(), o.Place(), orchestrator.JournalOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Seq)
		if line.Type == "turn_started" {
			close(release)
		}
	}
	run.Wait()
	want := numbers(log.All())
	if !slices.Equal(got, want) || len(now) >= len(want) {
		t.Errorf("%d lines followed, %d read at once, of %d", len(got), len(now), len(want))
	}
	wantNumbers(t, orchestrator.Journal(t.Context(), o.Place(), orchestrator.JournalOptions{Follow: true, After: want[len(want)-2]}),
		want[len(want)-1])
}

// TestJournalFails: a loop over a journal that is not there, or damaged, says so.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{false, true} {
		place := state.Place{Dir: t.TempDir(), Team: "crew"}
		opts := orchestrator.JournalOptions{Follow: follow, Member: "api"}
		got, errs := seqsOf(orchestrator.Journal(t.Context(), place, opts))
		if len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
			t.Errorf("no journal: %v, %v", got, errs)
		}
		text := `{"seq":1,"member":"api"}` + "\n{oops\n" + `{"seq":2,"member":"api"}` + "\n"
		if err := os.WriteFile(filepath.Join(place.Dir, "journal.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, errs = seqsOf(orchestrator.Journal(t.Context(), place, opts))
		var damaged *state.LineError
		if !slices.Equal(got, []uint64{1, 2}) || len(errs) != 1 || !errors.As(errs[0], &damaged) {
			t.Errorf("damaged: %v, %v", got, errs)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, errs := seqsOf(orchestrator.Journal(over, place, opts)); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
			t.Errorf("over before it began: %v", errs)
		}
	}
}

// TestJournalChooses: what a loop sees is what the options say, wherever it is left.
func TestJournalChooses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var want []uint64
		opts := orchestrator.JournalOptions{
			Member: rapid.SampledFrom([]string{"", "api", "docs"}).Draw(t, "member"),
			After:  rapid.Uint64Range(0, 30).Draw(t, "after"),
			Follow: rapid.Bool().Draw(t, "follow"),
		}
		seq := uint64(0)
		for _, gap := range rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 20).Draw(t, "gaps") {
			seq += gap
			member := rapid.SampledFrom([]string{"", "api", "docs"}).Draw(t, "of")
			fmt.Fprintf(&text, `{"seq":%d,"member":%q}`+"\n", seq, member)
			if seq > opts.After && (opts.Member == "" || opts.Member == member) {
				want = append(want, seq)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		leave := rapid.IntRange(1, 25).Draw(t, "leave")
		var got []uint64
		for line, err := range orchestrator.Journal(t.Context(), state.Place{Dir: dir, Team: "crew"}, opts) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, line.Seq); len(got) == leave {
				break
			}
		}
		if !slices.Equal(got, want[:min(leave, len(want))]) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestOwnJournalsApart: a program may run several teams at once; each loop
// sees the lines of its own.
func TestOwnJournalsApart(t *testing.T) {
	t.Parallel()
	var teams sync.WaitGroup
	for i := range 3 {
		o, log := solo(t, t.TempDir(), chatty(100+i))
		teams.Go(func() {
			if ending, err := o.Run(t.Context()); err != nil || ending.Code != orchestrator.CodeDone {
				t.Errorf("%+v, %v", ending, err)
			}
		})
		teams.Go(func() {
			if got, errs := seqsOf(o.Journal(t.Context())); len(errs) > 0 || len(got) != len(log.All()) ||
				len(got) < 100 {
				t.Errorf("team %d: %d lines of %d, %v", i, len(got), len(log.All()), errs)
			}
		})
	}
	teams.Wait()
}

// seqsOf gathers the numbers of the lines, and the errors.
func seqsOf(lines iter.Seq2[events.Line, error]) (out []uint64, errs []error) {
	for l, err := range lines {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, l.Seq)
	}
	return out, errs
}

func wantNumbers(t *testing.T, lines iter.Seq2[events.Line, error], want ...uint64) {
	t.Helper()
	if got, errs := seqsOf(lines); !slices.Equal(got, want) || len(errs) > 0 {
		t.Errorf("got lines %v, %v; want %v", got, errs, want)
	}
}
