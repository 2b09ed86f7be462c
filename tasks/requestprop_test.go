package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"

	"pgregory.net/rapid"
)

// modelRequest is a request as the model of TestRequestModel sees it.
type modelRequest struct {
	key   string
	state requests.State
	taken bool
	by    string
}

// answers says whether the same question gets this request again.
func (r modelRequest) answers() bool {
	return r.state == requests.Open || r.state != requests.Withdrawn && !r.taken
}

// requestMachine drives a store with random calls about requests, restarts
// among them, and a plain list beside it.
type requestMachine struct {
	*rapid.T
	path  string
	store *Store
	all   []string // ids in the order of asking
	model map[string]*modelRequest
	mail  map[string]int // to whom how many messages were sent
}

// TestRequestModel compares a store with the model after each call.
func TestRequestModel(t *testing.T) {
	t.Parallel()
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		path := filepath.Join(dir, strconv.Itoa(round), "tasks.db")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			rt.Fatal(err)
		}
		m := &requestMachine{T: rt, path: path, model: map[string]*modelRequest{}, mail: map[string]int{}}
		m.open()
		defer func() { _ = m.store.Close() }()
		rt.Repeat(rapid.StateMachineActions(m))
	})
}

func (m *requestMachine) open() {
	s, err := Open(m.path, nil)
	if err != nil {
		m.Fatal(err)
	}
	m.store = s
}

// Restart closes the store and opens it again.
func (m *requestMachine) Restart(*rapid.T) {
	if err := m.store.Close(); err != nil {
		m.Fatal(err)
	}
	m.open()
}

// Ask asks one of a few questions.
func (m *requestMachine) Ask(t *rapid.T) {
	member := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "member")
	key := rapid.SampledFrom([]string{"", "k", "l"}).Draw(t, "key")
	n := planOf(key)
	n.Member = member
	r, err := m.store.requests.Ask(context.Background(), actors.Actor{Name: member}, n)
	if err != nil {
		t.Fatal(err)
	}
	// The newest request of a question is the one that may answer it.
	same := ""
	for _, id := range m.all {
		if q := m.model[id]; key != "" && q.key == member+key {
			same = id
		}
	}
	if same != "" && m.model[same].answers() {
		if r.ID != same {
			t.Fatalf("asked %s anew though %s answers it", r.ID, same)
		}
		return
	}
	if slices.Contains(m.all, r.ID) {
		t.Fatalf("%s was given for a new question", r.ID)
	}
	m.all = append(m.all, r.ID)
	m.model[r.ID] = &modelRequest{key: member + key, state: requests.Open}
	m.mail["lead"]++
}

// one draws a request that was made.
func (m *requestMachine) one(t *rapid.T) (string, *modelRequest) {
	if len(m.all) == 0 {
		t.Skip("nothing was asked")
	}
	id := rapid.SampledFrom(m.all).Draw(t, "id")
	return id, m.model[id]
}

// Answer answers a request, in anybody's name.
func (m *requestMachine) Answer(t *rapid.T) {
	id, want := m.one(t)
	by := rapid.SampledFrom([]string{"lead", actors.Operator, "ann", "bob"}).Draw(t, "by")
	yes := rapid.Bool().Draw(t, "yes")
	_, err := m.store.requests.Answer(context.Background(), actors.Actor{Name: by}, id, requests.Ruling{Approve: yes, Mail: answerMail})
	switch {
	case by != "lead" && by != actors.Operator:
		if !errors.Is(err, ErrNotAsked) {
			t.Fatalf("%s answered: %v", by, err)
		}
	case want.state != requests.Open:
		if !errors.Is(err, ErrAnswered) || want.by != "" && !strings.Contains(err.Error(), want.by) {
			t.Fatalf("a second answer: %v", err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		want.state, want.by = map[bool]requests.State{true: requests.Approved, false: requests.Denied}[yes], by
		m.mail[want.key[:3]]++
	}
}

// Expire and Withdraw close a request in the other two ways.
func (m *requestMachine) Expire(t *rapid.T) {
	id, want := m.one(t)
	_, err := m.store.requests.Expire(context.Background(), id, nil)
	m.closed(t, want, requests.Expired, err)
}

func (m *requestMachine) Withdraw(t *rapid.T) {
	id, want := m.one(t)
	_, err := m.store.requests.Withdraw(context.Background(), actors.Actor{}, id, "moot")
	m.closed(t, want, requests.Withdrawn, err)
}

func (m *requestMachine) closed(t *rapid.T, want *modelRequest, state requests.State, err error) {
	if err != nil {
		t.Fatal(err)
	}
	if want.state == requests.Open {
		want.state = state
	}
}

// Take takes an answer.
func (m *requestMachine) Take(t *rapid.T) {
	id, want := m.one(t)
	if err := m.store.requests.MarkTaken(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	want.taken = want.taken || want.state != requests.Open
}

// Check compares all that can be seen.
func (m *requestMachine) Check(t *rapid.T) {
	ctx := context.Background()
	if err := m.store.Check(ctx); err != nil {
		t.Fatal(err)
	}
	all, err := m.store.requests.List(ctx)
	if err != nil || len(all) != len(m.all) {
		t.Fatalf("%d requests, want %d (%v)", len(all), len(m.all), err)
	}
	var open []string
	for _, r := range all {
		want := m.model[r.ID]
		if have := fmt.Sprint(r.State, r.Taken, r.By); have != fmt.Sprint(want.state, want.taken, want.by) {
			t.Fatalf("%s is %s, want %+v", r.ID, have, want)
		}
		if r.Open() {
			open = append(open, r.ID)
		}
	}
	listed, err := m.store.requests.Open(ctx, "")
	if err != nil || !slices.Equal(requestIDs(listed), open) {
		t.Fatalf("open %q, want %q (%v)", requestIDs(listed), open, err)
	}
	for to, n := range m.mail {
		if mail, err := m.store.mail.Unread(ctx, to); err != nil || len(mail) != n {
			t.Fatalf("%s has %d messages, want %d (%v)", to, len(mail), n, err)
		}
	}
}

func requestIDs(list []requests.Request) []string {
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}
