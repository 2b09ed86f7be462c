package crew_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// shownTo is what a member's transcript shows of the texts that tests send, in order
// and by sender: "mail boss-1." is the first of boss.
func shownTo(t *testing.T, place state.Place, member string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(place.Transcripts(), member, "*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s has the transcripts %v (%v)", member, paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]string{}
	for text := range strings.Lines(string(data)) {
		var l struct{ Message agent.Message }
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("a torn line in the transcript of %s: %q", member, text)
		}
		for _, b := range l.Message.Content {
			for _, piece := range strings.Split(b.Text, "mail ")[1:] {
				key, _, _ := strings.Cut(piece, ".")
				from, _, _ := strings.Cut(key, "-")
				shown[from] = append(shown[from], key)
			}
		}
	}
	return shown
}

// numbered are the texts of a sender, as shownTo has them.
func numbered(from string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%s-%d", from, i+1))
	}
	return keys
}

// wantShown checks that a member was shown all of some senders' texts, once and in order.
func wantShown(t *testing.T, place state.Place, member string, n int, senders ...string) {
	t.Helper()
	shown := shownTo(t, place, member)
	for _, from := range senders {
		if want := numbered(from, n); !slices.Equal(shown[from], want) {
			t.Errorf("%s was shown of %s: %v, want %v", member, from, shown[from], want)
		}
	}
}

// restsUntil is the machine's clock, save that a member which failed rests until the
// test lets it go on.
func restsUntil(free <-chan time.Time) members.Clock {
	return members.Clock{TimeNow: time.Now, TimeAfter: func(d time.Duration) <-chan time.Time {
		if d == time.Second || d == 2*time.Second {
			return free
		}
		return time.After(d)
	}}
}

// TestRecipientIsDeadAtSend (ADVERSARIAL 24): what a colleague and a person write to a
// member whose agent has died, and that rests before its next life, is kept; the next
// life is shown it once, and of each sender in the order of sending.
func TestRecipientIsDeadAtSend(t *testing.T) {
	const letters = 5
	t.Parallel()
	var lives atomic.Int32
	dies := func(orchestrator.Brief) (agent.Agent, error) {
		if lives.Add(1) == 1 {
			return nil, errors.New("no luck")
		}
		return teamtest.AgentFunc(func(ctx context.Context, in []agent.Input, h agent.Host) (agent.Reply, error) {
			h.Call(ctx, agent.ToolCall{ID: "c", Name: "TaskUpdate",
				Input: []byte(`{"taskId":"1","status":"completed"}`)})
			return agent.Reply{Text: "done"}, nil
		}), nil
	}
	dead, told := make(chan struct{}), make(chan struct{})
	var once sync.Once
	writes := teamtest.MakerOf(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		once.Do(func() {
			defer close(told)
			<-dead
			for i, key := range numbered("boss", letters) {
				h.Call(ctx, agent.ToolCall{ID: fmt.Sprint("s", i), Name: "SendMessage", Input: texts.Encode(map[string]string{
					"to": "dev", "message": "mail " + key + ".", "summary": "news",
				})})
			}
		})
		return agent.Reply{Text: "told"}, nil
	})
	spec := strings.Replace(teamtest.GivenSpec, "dev: {agent: dev", "dev: {agent: dev, restart: {max: 2, within: 5m}", 1) +
		"tasks: [{subject: Look around, owner: dev}]\n"
	free := make(chan time.Time)
	o, log, err := teamtest.NewGiven(t, t.TempDir(), spec, orchestrator.Options{
		Agents:    map[string]orchestrator.AgentMaker{"boss": writes, "dev": dies},
		Overrides: orchestrator.Overrides{Clock: restsUntil(free)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan orchestrator.Ending, 1)
	go func() {
		e, err := o.Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	log.Wait(t, "dev's death", func(l events.Line) bool { return l.Type == "member_restarts" })
	c, err := api.Dial(t.Context(), o.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "Write to dev."}); err != nil {
		t.Fatal(err)
	}
	close(dead)
	for _, key := range numbered("person", letters) {
		if _, err := c.Send(t.Context(), api.Send{To: "dev", Text: "mail " + key + "."}); err != nil {
			t.Fatal(err)
		}
	}
	<-told
	if n := lives.Load(); n != 1 {
		t.Errorf("dev lives already for the %d. time", n)
	}
	close(free)
	if e := <-ended; e.Code != orchestrator.CodeDone {
		t.Fatalf("%+v\n%s", e, teamtest.Show(log.All()))
	}
	wantShown(t, o.Place(), "dev", letters, "boss", "person")
}

// deadSpec is a team whose dev fails twice before it works, and whose lead writes to it
// when it is told to.
var deadSpec = map[string]string{
	"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}\n",
		"dev: {model: dev, restart: {max: 9, within: 1h}}\n", 1) +
		"tasks: [{id: a, subject: Do it, owner: dev}]\n",
	"lead.yaml": `steps:
  - when: 'write now'
    call:
      - {tool: SendMessage, input: {to: dev, message: "mail lead-1.", summary: news}}
      - {tool: SendMessage, input: {to: dev, message: "mail lead-2.", summary: news}}
      - {tool: SendMessage, input: {to: dev, message: "mail lead-3.", summary: news}}
  - {say: Fine., times: -1}
`,
	"dev.yaml": `steps:
  - {error: {type: overloaded}, times: 2}
  - {when: '#1', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Fine., times: -1}
`,
}

// TestRecipientAndCoveyAreDead (ADVERSARIAL 24): a member rests after its death, gets
// mail of two senders, and covey itself is killed. When it comes back, the member does
// as well, and is shown each text once and in order.
func TestRecipientAndCoveyAreDead(t *testing.T) {
	t.Parallel()
	const letters = 3
	r := teamtest.NewRig(t, deadSpec)
	cmd := r.OwnProcess()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	until := func(typ string, n int) {
		for n > 0 && lines.Scan() {
			if strings.HasSuffix(lines.Text(), typ) {
				n--
			}
		}
		if n > 0 {
			t.Fatalf("covey ended without %s", typ)
		}
	}
	until(" dev member_restarts", 1)
	place := r.Place()
	c, err := api.Dial(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "write now"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range numbered("person", letters) {
		if _, err := c.Send(t.Context(), api.Send{To: "dev", Text: "mail " + key + "."}); err != nil {
			t.Fatal(err)
		}
	}
	until(" tool_result", letters)
	kill()
	u := teamtest.Start(r, &teamtest.HandClock{}) // whose rests are short
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	wantShown(t, place, "dev", letters, "lead", "person")
	r.CompletedOnce()
}
