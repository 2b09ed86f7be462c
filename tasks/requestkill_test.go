package tasks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/requests"
)

// leastRequests is how many requests a child has made at least when it is killed. Each is two
// lines: that it was asked, and that it was answered.
const leastRequests = 10

// TestRequestKill kills a process that asks and answers as fast as it can:
// what it acknowledged is there, with exactly the mail that belongs to it.
func TestRequestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	acked := map[string]requests.State{}
	for range max(*kills/2, 1) {
		for id, state := range requestsAndKill(t, path) {
			acked[id] = state
		}
		s, err := Open(path, nil)
		ok(t, s, err)
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		verifyRequests(t, s, acked)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(acked) < leastRequests {
		t.Errorf("only %d requests: that proves little", len(acked))
	}
}

// verifyRequests compares what was acknowledged with what is stored.
func verifyRequests(t *testing.T, s *Store, acked map[string]requests.State) {
	t.Helper()
	all, err := s.requests.List(t.Context())
	ok(t, all, err)
	stored, answered := map[string]requests.Request{}, 0
	for _, r := range all {
		stored[r.ID] = r
		if !r.Open() {
			answered++
		}
	}
	for id, state := range acked {
		// An open one may have been answered without the child living to say so.
		if r, there := stored[id]; !there || r.State != state && state != requests.Open {
			t.Errorf("request %s was acknowledged as %s and is %q", id, state, r.State)
		}
	}
	if asked := len(unread(t, s, "lead")); asked != len(all) {
		t.Errorf("%d requests and %d messages of them", len(all), asked)
	}
	if told := len(unread(t, s, "ann")); told != answered {
		t.Errorf("%d answers and %d messages of them", answered, told)
	}
}

// requestsAndKill runs a child until it has said some lines, and a moment longer, and gives
// what it has said. Lines are counted: a slow machine says few in a fixed time.
func requestsAndKill(t *testing.T, path string) map[string]requests.State {
	t.Helper()
	said := map[string]requests.State{}
	for _, line := range killChild(t, "requests", path, 1+2*leastRequests+rand.IntN(100), time.Duration(rand.IntN(4))*time.Millisecond) {
		id, state, _ := strings.Cut(line, " ")
		said[id] = requests.State(state)
	}
	return said
}

// requestChild asks and answers until it is killed, and says what has been
// acknowledged. It stops asking before the oldest requests are dropped.
func requestChild(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	all, err := s.requests.List(ctx)
	if err != nil {
		return err
	}
	for n := len(all); n < maxClosedRequests; n++ {
		r, err := s.requests.Ask(ctx, as("ann"), planOf(fmt.Sprint(os.Getpid(), n)))
		if err != nil {
			return err
		}
		fmt.Println(r.ID, requests.Open)
		done, err := s.requests.Answer(ctx, as("lead"), r.ID, requests.Ruling{Approve: n%2 == 0, Mail: answerMail})
		if err != nil {
			return err
		}
		fmt.Println(r.ID, done.State)
	}
	testkit.Hang() // until it is killed
	return nil
}
