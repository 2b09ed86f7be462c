package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// BenchmarkWakeup measures how long it takes from a call at the control socket until
// an idle member of a team of 1,000 has its prompt: a message, or a task of its own. The
// change of a bare store, measured beside it, is what it takes at least.
//
//	go test -run xxx -bench Wakeup -benchtime 500x ./orchestrator
func BenchmarkWakeup(b *testing.B) {
	w := newWakeBench(b, 1000)
	b.Run("message", func(b *testing.B) {
		w.run(b, func(ctx context.Context, c *api.Client, to string) error {
			_, err := c.Send(ctx, api.Send{To: to, Text: "Are you there?"})
			return err
		})
	})
	b.Run("task", func(b *testing.B) {
		w.run(b, func(ctx context.Context, c *api.Client, to string) error {
			_, err := c.CreateTask(ctx, api.TaskCreate{Subject: "work", Owner: to})
			return err
		})
	})
	b.Run("peer", pollingPeer)
}

// peerPoll is how often a member of the best-known agent host looks into its inbox when
// it runs in the host's process; in a process of its own it is once a second.
const peerPoll = 500 * time.Millisecond

// pollingPeer measures how long a message takes there: it is put into a JSON file, which
// the receiver reads now and then. It may come at any moment between two looks.
func pollingPeer(b *testing.B) {
	path := filepath.Join(b.TempDir(), "inbox.json")
	read := make(chan struct{})
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		looks := time.NewTicker(peerPoll)
		defer looks.Stop()
		for {
			select {
			case <-looks.C:
			case <-stop:
				return
			}
			var mail []api.Send
			if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &mail) == nil && len(mail) > 0 {
				_ = os.Remove(path)
				read <- struct{}{}
			}
		}
	})
	var took []time.Duration
	for b.Loop() {
		time.Sleep(rand.N(peerPoll))
		begun := time.Now()
		data, err := json.Marshal([]api.Send{{To: "m1", Text: "Are you there?"}})
		if err == nil {
			err = errors.Join(os.WriteFile(path+".part", data, 0o600), os.Rename(path+".part", path))
		}
		if err != nil {
			b.Fatal(err)
		}
		<-read
		took = append(took, time.Since(begun))
	}
	close(stop)
	reader.Wait()
	slices.Sort(took)
	b.ReportMetric(teamtest.Quantile(took, 50), "p50-µs")
	b.ReportMetric(teamtest.Quantile(took, 99), "p99-µs")
}

// wakeBench is a team at rest, and what its members begin.
type wakeBench struct {
	client *api.Client
	began  chan string
	store  *tasks.Store // a bare one
	next   int
}

func newWakeBench(b *testing.B, members int) *wakeBench {
	b.Helper()
	b.Setenv("COVEY_STATE_HOME", b.TempDir())
	dir := b.TempDir()
	var spec strings.Builder
	spec.WriteString("covey: 1\nname: crew\nmodels: {m: {provider: script, script: s.yaml}}\n" +
		"agents: {a: {use: builtin, model: m}}\nlead: a\nkeep: true\ndefaults: {self_claim: false}\nteammates:\n")
	for i := range members {
		fmt.Fprintf(&spec, "  m%d: a\n", i)
	}
	for name, text := range map[string]string{"team.yaml": spec.String(),
		"s.yaml": "steps: [{say: Yes., times: -1}]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	w := &wakeBench{began: make(chan string, 1<<16)}
	up := make(chan state.Place, 1)
	o, err := orchestrator.New(team, orchestrator.Options{OnUp: func(p state.Place) { up <- p }, OnLine: func(l events.Line) {
		if l.Type == "turn_started" {
			w.began <- l.Member
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := o.Run(ctx)
		done <- err
	}()
	if w.client, err = api.Dial(ctx, <-up); err != nil {
		b.Fatal(err)
	}
	if _, err := w.client.WaitUp(ctx); err != nil {
		b.Fatal(err)
	}
	if w.store, err = tasks.Open(filepath.Join(b.TempDir(), "tasks.db"),
		&tasks.Options{MaxUnread: 1 << 30}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := w.store.Close(); err != nil {
			b.Error(err)
		}
	})
	return w
}

// run wakes one member after another; each has gone to rest before its turn comes again.
func (w *wakeBench) run(b *testing.B, wake func(ctx context.Context, c *api.Client, to string) error) {
	var took, bare []time.Duration
	for b.Loop() {
		to := fmt.Sprint("m", w.next%1000)
		w.next++
		begun := time.Now()
		if err := wake(b.Context(), w.client, to); err != nil {
			b.Fatal(err)
		}
		for member := range w.began {
			if member == to {
				break
			}
		}
		took = append(took, time.Since(begun))
		begun = time.Now()
		_, err := w.store.Mail().Send(b.Context(), actors.Actor{}, mail.Outgoing{To: []string{to},
			Text: "Are you there?"})
		if err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(begun))
	}
	slices.Sort(took)
	slices.Sort(bare)
	b.ReportMetric(teamtest.Quantile(took, 50), "p50-µs")
	b.ReportMetric(teamtest.Quantile(took, 99), "p99-µs")
	b.ReportMetric(teamtest.Quantile(bare, 50), "commit-p50-µs")
	b.ReportMetric(teamtest.Quantile(took, 50)/teamtest.Quantile(bare, 50), "commits")
}
