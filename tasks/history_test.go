package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// rounds is how often TestHistory kills its child; the proof of docs/reliability.md is
//
//	go test ./tasks -run TestHistory -rounds 1000
var rounds = flag.Int("rounds", 8, "how often TestHistory kills the process whose history it checks")

// A history is what callers of a store have asked and been told, with the times of both,
// over many lives of the process that has it open. It is linearizable if all of it could
// have happened one after another, each call at some moment between its two times:
// nothing that was answered is lost, and no task has two owners. A call that was cut off
// by kill -9 has no answer, and may have happened or not.

// asked is one call about one task.
type asked struct {
	Op     string `json:"op"` // claim, complete, return or read
	Task   string `json:"task"`
	Member string `json:"member"`
	Epoch  uint64 `json:"epoch,omitempty"` // under which the member believes to own it
}

// answer is what the call answered.
type answer struct {
	Err    string `json:"err,omitempty"` // owned, done, stale; empty: it happened
	Owner  string `json:"owner,omitempty"`
	Status Status `json:"status,omitempty"`
	Epoch  uint64 `json:"epoch,omitempty"`
	Cut    bool   `json:"cut,omitempty"` // nobody was told anything
}

// entry is a line of the child: a call, or its answer.
type historyLine struct {
	Client int     `json:"client"`
	At     int64   `json:"at"` // nanoseconds since the child began
	Asked  *asked  `json:"asked,omitempty"`
	Told   *answer `json:"told,omitempty"`
	Acked  bool    `json:"acked,omitempty"` // servers have acknowledged a change of the call
}

// owned is the model of one task.
type owned struct {
	status Status
	owner  string
	epoch  uint64
}

// step says what a call makes of a task; ok is false if it cannot have had that answer.
func (s owned) step(a asked, t answer) (next owned, ok bool) {
	switch a.Op {
	case "read":
		return s, t == answer{Owner: s.owner, Status: s.status, Epoch: s.epoch}
	case "claim":
		want := s
		switch {
		case s.status == Completed:
			return s, t.Err == "done"
		case s.owner != "" && s.owner != a.Member:
			return s, t.Err == "owned"
		case s.status == Pending:
			want = owned{InProgress, a.Member, s.epoch + 1}
		}
		return want, t == answer{Owner: want.owner, Status: want.status, Epoch: want.epoch}
	case "complete", "return":
		if s.epoch != a.Epoch || s.status == Pending {
			return s, t.Err == "stale"
		}
		next = owned{Completed, s.owner, s.epoch + 1}
		if a.Op == "return" {
			next = owned{Pending, "", s.epoch + 1}
		}
		if s.status == Completed && a.Op == "complete" {
			next = s
		}
		return next, t == answer{Owner: next.owner, Status: next.status, Epoch: next.epoch}
	}
	return s, false
}

// effect is what a call that was cut off would have done.
func (s owned) effect(a asked) owned {
	for _, would := range []answer{
		{Owner: a.Member, Status: InProgress, Epoch: s.epoch + 1}, {Owner: s.owner, Status: Completed, Epoch: s.epoch + 1},
		{Status: Pending, Epoch: s.epoch + 1},
	} {
		if next, ok := s.step(a, would); ok {
			return next
		}
	}
	return s
}

// historyModel is a list of tasks, each on its own, that begin as pending.
func historyModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{owned{status: Pending}} },
		Step: func(state, in, out any) []any {
			s, a, t := state.(owned), in.(asked), out.(answer)
			if t.Cut {
				return []any{s, s.effect(a)}
			}
			if next, ok := s.step(a, t); ok {
				return []any{next}
			}
			return nil
		},
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byTask := map[string][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(asked).Task
				byTask[id] = append(byTask[id], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range byTask {
				parts = append(parts, part)
			}
			return parts
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
	}
	return m.ToModel()
}

const (
	historyTasks   = 60
	historyClients = 6
)

// historyMember returns the name that a client has.
func historyMember(client int) string { return "w" + strconv.Itoa(client) }

// callsBeforeKill is how many calls of a child at least are whole before it is killed. It
// is counted, not timed: a slow machine makes few calls in a fixed time.
const callsBeforeKill = 25

// TestHistory: the history of a process that is killed again and again is linearizable,
// and a forged second claim in it is found out.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	for range historyTasks {
		add(t, s, New{})
	}
	closed(t, s)
	n := *rounds
	if testing.Short() {
		n = min(n, 5)
	}
	var history []porcupine.Operation
	base, cut := int64(0), 0
	for range n {
		ops, end := historyOf(t, path, base)
		history, base = append(history, ops...), end
		for _, op := range ops {
			if op.Output.(answer).Cut {
				cut++
			}
		}
	}
	judgeHistory(t, openAt(t, path, nil), history, base, n)
	t.Logf("%d of the calls were cut off", cut)
}

// judgeHistory checks that a history is linearizable, with what is there in the end, and that forged ones
// are not. base is the time when it ends.
func judgeHistory(t *testing.T, s *Store, history []porcupine.Operation, base int64, rounds int) {
	t.Helper()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	history = append(history, lastReads(t, s, base)...)
	model := historyModel()
	if have := porcupine.CheckOperationsTimeout(model, history, time.Minute); have != porcupine.Ok {
		t.Errorf("the history of %d calls is %s", len(history), have)
	}
	if len(history) < callsBeforeKill*rounds {
		t.Errorf("%d calls in %d rounds: that proves little", len(history), rounds)
	}
	t.Logf("%d calls in %d rounds", len(history), rounds)
	if have := porcupine.CheckOperationsTimeout(model, forgedClaim(t, history), time.Minute); have != porcupine.Illegal {
		t.Errorf("with a forged second claim the history is %s", have)
	}
	if have := porcupine.CheckOperationsTimeout(model, forgedLoss(t, history), time.Minute); have != porcupine.Illegal {
		t.Errorf("with a lost change the history is %s", have)
	}
}

// historyOf runs a child until a random moment and gives what it was asked and told. base
// is the time when it begins, end when it has.
func historyOf(t *testing.T, path string, base int64) (ops []porcupine.Operation, end int64) {
	t.Helper()
	// Each of its clients may be in a call, which is one line then; a whole call is two.
	lines := killChild(t, "history", path, historyClients+2*callsBeforeKill+rand.IntN(120), time.Duration(rand.IntN(4))*time.Millisecond)
	open := map[int]*porcupine.Operation{}
	for _, text := range lines {
		var l historyLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		end = max(end, base+l.At+1)
		if l.Asked != nil {
			open[l.Client] = &porcupine.Operation{ClientId: l.Client, Input: *l.Asked, Call: base + l.At}
			continue
		}
		op := open[l.Client]
		op.Output, op.Return = *l.Told, base+l.At
		ops = append(ops, *op)
		delete(open, l.Client)
	}
	for _, op := range open { // the dead change nothing any more
		op.Output, op.Return = answer{Cut: true}, end
		ops = append(ops, *op)
	}
	return ops, end + 1
}

// lastReads are what is there in the end.
func lastReads(t *testing.T, s *Store, base int64) (ops []porcupine.Operation) {
	t.Helper()
	list, err := s.List(t.Context())
	for i, task := range ok(t, list, err) {
		at := base + int64(2*i)
		ops = append(ops, porcupine.Operation{
			Input: asked{Op: "read", Task: task.ID}, Output: answer{Owner: task.Owner, Status: task.Status, Epoch: task.Epoch},
			Call: at, Return: at + 1,
		})
	}
	return ops
}

// forgedClaim lets a second member have won a claim at the time when the first did.
func forgedClaim(t *testing.T, history []porcupine.Operation) []porcupine.Operation {
	t.Helper()
	for _, op := range history {
		a, won := op.Input.(asked), op.Output.(answer)
		if a.Op == "claim" && won.Err == "" && !won.Cut {
			a.Member, won.Owner = "somebody else", "somebody else"
			forged := porcupine.Operation{ClientId: 99, Input: a, Output: won, Call: op.Call, Return: op.Return}
			return append(append([]porcupine.Operation{}, history...), forged)
		}
	}
	t.Fatal("nobody has won a claim")
	return nil
}

// forgedLoss lets a task be in the end as it was in the beginning, though a claim of it was
// answered. Without an answer the claim may as well not have happened.
func forgedLoss(t *testing.T, history []porcupine.Operation) []porcupine.Operation {
	t.Helper()
	forged := append([]porcupine.Operation{}, history...)
	claimed := map[string]bool{}
	for _, op := range history {
		if a, won := op.Input.(asked), op.Output.(answer); a.Op == "claim" && won.Err == "" && !won.Cut {
			claimed[a.Task] = true
		}
	}
	for i := len(forged) - 1; i >= 0; i-- {
		if a := forged[i].Input.(asked); a.Op == "read" && claimed[a.Task] {
			forged[i].Output = answer{Status: Pending}
			return forged
		}
	}
	t.Fatal("nothing has changed")
	return nil
}

// historyChild asks a store for things until it is killed, and says so before and after.
func historyChild(path string) error {
	opts := &Options{}
	if _, err := lead(path, opts); err != nil {
		return err
	}
	s, err := Open(path, opts)
	if err != nil {
		return err
	}
	began := time.Now()
	h := &historian{s: s, out: json.NewEncoder(os.Stdout),
		now:   func() int64 { return time.Since(began).Nanoseconds() },
		acked: func(string) int { return 0 },
	}
	h.run()
	return nil
}

// historian writes down what is asked and told.
type historian struct {
	s     *Store
	now   func() int64
	acked func(member string) int // how many changes of a member servers have acknowledged
	mu    sync.Mutex
	out   *json.Encoder
}

// run makes calls for ever.
func (h *historian) run() {
	var wg sync.WaitGroup
	for client := range historyClients {
		wg.Go(func() {
			for {
				h.call(client)
			}
		})
	}
	wg.Wait()
}

func (h *historian) say(l historyLine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.At = h.now()
	_ = h.out.Encode(l)
}

// call makes one call, drawn at random. A member gives back what it believes to be its
// own only; that others may have it by now is what its epoch is for.
func (h *historian) call(client int) {
	ctx := context.Background()
	a := asked{
		Op: []string{"claim", "claim", "complete", "return", "read"}[rand.IntN(5)], Member: historyMember(client),
		Task: strconv.Itoa(1 + rand.IntN(historyTasks)),
	}
	if a.Op == "complete" || a.Op == "return" {
		seen, err := h.s.Task(ctx, a.Task)
		if err != nil || seen.Owner != a.Member {
			return
		}
		a.Epoch = seen.Epoch - uint64(rand.IntN(2)) // sometimes the one before
	}
	if a.Epoch == 0 && a.Op != "claim" && a.Op != "read" {
		return // 0 would mean any
	}
	h.say(historyLine{Client: client, Asked: &a})
	acked := h.acked(a.Member)
	reply := h.ask(ctx, a)
	h.say(historyLine{Client: client, Told: &reply, Acked: h.acked(a.Member) > acked})
}

func (h *historian) ask(ctx context.Context, a asked) answer {
	var task Task
	var err error
	switch a.Op {
	case "read":
		task, err = h.s.Task(ctx, a.Task)
	case "claim":
		task, err = h.s.Claim(ctx, as(a.Member), a.Task, Claim{})
	case "complete":
		task, _, err = h.s.Update(ctx, as(a.Member), a.Task, Patch{Epoch: a.Epoch, Status: ptr(Completed)})
	case "return":
		task, _, err = h.s.Update(ctx, as(a.Member), a.Task, Patch{Epoch: a.Epoch, Status: ptr(Pending), Owner: ptr("")})
	}
	if errors.Is(err, ErrReplica) || err != nil && h.s.Cause() != nil {
		return answer{Cut: true}
	}
	for target, word := range map[error]string{ErrOwned: "owned", ErrDone: "done", ErrStale: "stale"} {
		if errors.Is(err, target) {
			return answer{Err: word}
		}
	}
	if err != nil {
		return answer{Err: strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	return answer{Owner: task.Owner, Status: task.Status, Epoch: task.Epoch}
}
