package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

// planOf is a request of ann that the lead is to answer, with mail for both.
func planOf(key string) requests.New {
	return requests.New{
		Kind: requests.AskPlan, Member: "ann", To: "lead", Text: "may I?", Key: key, Wait: time.Minute,
		Payload: json.RawMessage(`{"plan":"one, two"}`),
		Mail: func(r requests.Request) mail.Outgoing {
			return mail.Outgoing{Kind: mail.PlanAsked, Text: "plan " + r.ID, Data: r.Payload}
		},
	}
}

// askFor makes a request, or fails the test.
func askFor(t testing.TB, s *Store, n requests.New) requests.Request {
	t.Helper()
	r, err := s.requests.Ask(t.Context(), as(n.Member), n)
	return ok(t, r, err)
}

// answerMail tells whom a request is about what the answer was.
func answerMail(r requests.Request) mail.Outgoing {
	return mail.Outgoing{Kind: mail.PlanAnswered, Text: fmt.Sprintf("%s: %s", r.State, r.Feedback)}
}

// TestRequestIsAskedAndAnswered: a request, its mail and its events are one
// change, and so is the answer.
func TestRequestIsAskedAndAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	r := askFor(t, s, planOf(""))
	if !r.Open() || r.Approved() || r.Created != fixed || r.Deadline != fixed.Add(time.Minute) {
		t.Errorf("asked %+v", r)
	}
	wantList(t, "the lead's mail", unread(t, s, "lead"), []string{"plan_approval_request ann: plan " + r.ID})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil) // an open request survives
	open, err := s.requests.Open(t.Context(), "ann")
	if ok(t, open, err); len(open) != 1 || open[0].ID != r.ID || string(open[0].Payload) != `{"plan":"one, two"}` {
		t.Fatalf("after a restart: %+v", open)
	}
	done, err := s.requests.Answer(t.Context(), as("lead"), r.ID,
		requests.Ruling{Approve: true, Feedback: "go", Mode: "acceptEdits", Mail: answerMail})
	ok(t, done, err)
	if done.State != requests.Approved || !done.Approved() || done.By != "lead" || done.Mode != "acceptEdits" ||
		done.Closed.IsZero() {
		t.Errorf("answered %+v", done)
	}
	wantList(t, "ann's mail", unread(t, s, "ann"), []string{"plan_approval_response lead: approved: go"})
	wantList(t, "events", requestEvents(t, s), []string{"open", "approved"})
	open, err = s.requests.Open(t.Context(), "")
	if ok(t, open, err); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
	again, err := s.requests.Get(t.Context(), r.ID)
	if ok(t, again, err); again.Feedback != "go" {
		t.Errorf("looked up %+v", again)
	}
}

// requestEvents gives the states that the outbox tells of requests.
func requestEvents(t testing.TB, s *Store) []string {
	t.Helper()
	var states []string
	for _, e := range drain(t, s) {
		if r, ok := e.Data.(requests.Request); ok {
			states = append(states, string(r.State))
		}
	}
	return states
}

// TestRequestIsAnsweredOnce: of many who answer, one does, and the others are
// told who was first.
func TestRequestIsAnsweredOnce(t *testing.T) {
	s := open(t, nil)
	r := askFor(t, s, planOf(""))
	var yes, late atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			_, err := s.requests.Answer(context.Background(), as(actors.Operator), r.ID, requests.Ruling{Approve: i%2 == 0, Mail: answerMail})
			switch {
			case err == nil:
				yes.Add(1)
			case errors.Is(err, ErrAnswered) && strings.Contains(err.Error(), "by operator"):
				late.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if yes.Load() != 1 || late.Load() != 15 {
		t.Errorf("%d answers counted, %d were late", yes.Load(), late.Load())
	}
	if n := len(unread(t, s, "ann")); n != 1 {
		t.Errorf("ann has %d answers", n)
	}
}

// TestRequestRefusals: what cannot be asked or answered is refused and changes
// nothing.
func TestRequestRefusals(t *testing.T) {
	s := open(t, nil)
	r := askFor(t, s, planOf(""))
	drain(t, s)
	long := strings.Repeat("x", store.MaxShort+1)
	for _, tc := range []struct {
		name string
		do   func() error
		want error
		says string
	}{
		{"of oneself", func() error {
			_, err := s.requests.Ask(t.Context(), as("ann"), requests.New{Kind: requests.AskPlan, Member: "ann", To: "ann"})
			return err
		}, ErrInvalid, "cannot answer a request about itself"},
		{"of no kind", func() error {
			_, err := s.requests.Ask(t.Context(), as("ann"), requests.New{Kind: "wish", Member: "ann", To: "lead"})
			return err
		}, ErrInvalid, `kind "wish"`},
		{"to nobody", func() error {
			_, err := s.requests.Ask(t.Context(), as("ann"), requests.New{Kind: requests.AskPlan, Member: "ann"})
			return err
		}, ErrInvalid, "receiver of the request"},
		{"too long", func() error {
			_, err := s.requests.Ask(t.Context(), as("ann"), requests.New{Kind: requests.AskPlan, Member: "ann", To: "lead", Text: long})
			return err
		}, ErrInvalid, "16385 bytes"},
		{"no JSON", func() error {
			n := planOf("")
			n.Payload = json.RawMessage("{")
			_, err := s.requests.Ask(t.Context(), as("ann"), n)
			return err
		}, ErrInvalid, "payload is not JSON"},
		{"answered by the asker", func() error {
			_, err := s.requests.Answer(t.Context(), as("ann"), r.ID, requests.Ruling{Approve: true})
			return err
		}, ErrNotAsked, "lead has to answer it"},
		{"answered by a third", func() error {
			_, err := s.requests.Answer(t.Context(), as("bob"), r.ID, requests.Ruling{Approve: true})
			return err
		}, ErrNotAsked, "lead has to answer it"},
		{"unknown", func() error {
			_, err := s.requests.Answer(t.Context(), as("lead"), "01ARZ", requests.Ruling{})
			return err
		}, ErrNotFound, `request "01ARZ"`},
		{"long feedback", func() error {
			_, err := s.requests.Answer(t.Context(), as("lead"), r.ID, requests.Ruling{Feedback: long})
			return err
		}, ErrInvalid, "feedback has 16385 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) { wantError(t, tc.do(), tc.want, tc.says) })
	}
	if events := drain(t, s); len(events) != 0 {
		t.Errorf("refusals were told: %+v", events)
	}
	now, err := s.requests.Get(t.Context(), r.ID)
	if ok(t, now, err); !now.Open() {
		t.Errorf("a refusal closed it: %+v", now)
	}
}

// TestRequestOfAnEndedSession: who outlived a restart can neither ask nor answer.
func TestRequestOfAnEndedSession(t *testing.T) {
	s := open(t, nil)
	attach(t, s, "ann")
	attach(t, s, "ann")
	old := actors.Actor{Name: "ann", Session: 1}
	_, err := s.requests.Ask(t.Context(), old, planOf(""))
	wantError(t, err, ErrStale, "session 1 of ann is over")
}

// TestRequestWithoutAnswer: the default holds when time is up, and nothing does
// once nobody wants to know.
func TestRequestWithoutAnswer(t *testing.T) {
	s := open(t, nil)
	n := planOf("")
	n.Default = true
	late := askFor(t, s, n)
	late, err := s.requests.Expire(t.Context(), late.ID, answerMail)
	if ok(t, late, err); late.State != requests.Expired || !late.Approved() || late.By != "" {
		t.Errorf("expired: %+v", late)
	}
	wantList(t, "mail", unread(t, s, "ann"), []string{"plan_approval_response : expired: "})
	gone := askFor(t, s, n)
	gone, err = s.requests.Withdraw(t.Context(), as("ann"), gone.ID, "the turn is over")
	if ok(t, gone, err); gone.State != requests.Withdrawn || gone.Approved() || gone.Feedback != "the turn is over" {
		t.Errorf("withdrawn: %+v", gone)
	}
	for _, id := range []string{late.ID, gone.ID} { // what is closed stays as it is
		before, err := s.requests.Get(t.Context(), id)
		ok(t, before, err)
		after, err := s.requests.Expire(t.Context(), id, answerMail)
		if ok(t, after, err); after.State != before.State || after.Closed != before.Closed {
			t.Errorf("closed twice: %+v", after)
		}
		_, err = s.requests.Answer(t.Context(), as("lead"), id, requests.Ruling{})
		wantError(t, err, ErrAnswered, string(before.State))
	}
	if n := len(unread(t, s, "ann")); n != 1 {
		t.Errorf("%d answers were sent", n)
	}
}

// TestRequestOfTheSameQuestion: a question is one request until its answer has
// been acted on; a lasting yes goes on holding.
func TestRequestOfTheSameQuestion(t *testing.T) {
	for _, tc := range []struct {
		name    string
		approve bool
		lasting bool
		take    bool
		same    bool
	}{
		{"not taken", true, false, false, true},
		{"a no, not taken", false, false, false, true},
		{"taken", true, false, true, false},
		{"a no, taken", false, true, true, false},
		{"lasting", true, true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, nil)
			n := planOf("k")
			n.Lasting = tc.lasting
			first := askFor(t, s, n)
			if again := askFor(t, s, n); again.ID != first.ID {
				t.Error("an open question was asked twice")
			}
			if len(unread(t, s, "lead")) != 1 {
				t.Errorf("the lead was told %d times", len(unread(t, s, "lead")))
			}
			_, err := s.requests.Answer(t.Context(), as("lead"), first.ID, requests.Ruling{Approve: tc.approve})
			ok(t, 0, err)
			if tc.take {
				if err := s.requests.MarkTaken(t.Context(), first.ID); err != nil {
					t.Fatal(err)
				}
			}
			if again := askFor(t, s, n); (again.ID == first.ID) != tc.same {
				t.Errorf("the same request: %t, want %t", again.ID == first.ID, tc.same)
			}
			other := n
			other.Member = "bob"
			if r := askFor(t, s, other); r.ID == first.ID {
				t.Error("another member's question is the same")
			}
		})
	}
}

// TestRequestByReceipt: a call that was cut off and is made again asks and
// answers once.
func TestRequestByReceipt(t *testing.T) {
	s := open(t, nil)
	by := actors.Actor{Name: "ann", CallID: "c1"}
	first, err := s.requests.Ask(t.Context(), by, planOf(""))
	ok(t, first, err)
	again, err := s.requests.Ask(t.Context(), by, planOf(""))
	if ok(t, again, err); again.ID != first.ID {
		t.Error("asked twice")
	}
	lead := actors.Actor{Name: "lead", CallID: "c2"}
	for range 2 {
		r, err := s.requests.Answer(t.Context(), lead, first.ID, requests.Ruling{Approve: true, Mail: answerMail})
		if ok(t, r, err); r.State != requests.Approved {
			t.Errorf("answered %+v", r)
		}
	}
	if n := len(unread(t, s, "ann")); n != 1 {
		t.Errorf("%d answers were sent", n)
	}
	receipt, found, err := s.Receipt(t.Context(), "lead", "c2")
	if ok(t, receipt, err); !found || receipt.Op != "answer" || receipt.Request.ID != first.ID {
		t.Errorf("receipt %+v", receipt)
	}
}

// TestRequestOfALongPayload: it lies in a file for as long as something needs it.
func TestRequestOfALongPayload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	text := strings.Repeat("plan ", store.InlineLimit/4)
	n := planOf("k")
	n.Payload, n.Mail = ok(t, json.RawMessage(`"`+text+`"`), nil), nil
	r := askFor(t, s, n)
	_ = askFor(t, s, n) // answered from the first: its own file goes again
	got, err := s.requests.Get(t.Context(), r.ID)
	if ok(t, got, err); string(got.Payload) != `"`+text+`"` {
		t.Errorf("payload of %d bytes, want %d", len(got.Payload), len(text)+2)
	}
	drain(t, s)
	files, err := filepath.Glob(path + ".blobs/*")
	if ok(t, files, err); len(files) != 1 {
		t.Errorf("files %v, want one", files)
	}
}

// TestRequestsAreBounded: the oldest closed ones go, and a fault that asks
// without end is stopped.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	raw(t, s).NoSync = true
	plain := requests.New{Kind: requests.AskPermission, Member: "ann", To: actors.Operator, Key: "same"}
	first := ""
	for i := range maxClosedRequests + 3 {
		r := askFor(t, s, plain)
		if i == 0 {
			first = r.ID
		}
		_, err := s.requests.Withdraw(t.Context(), actors.Actor{}, r.ID, "")
		ok(t, 0, err)
		if i%200 == 0 {
			drain(t, s)
		}
	}
	all, err := s.requests.List(t.Context())
	if ok(t, all, err); len(all) != maxClosedRequests {
		t.Errorf("%d are kept", len(all))
	}
	_, err = s.requests.Get(t.Context(), first)
	wantError(t, err, ErrNotFound, first)
	plain.Key = ""
	for range maxOpenRequests {
		askFor(t, s, plain)
	}
	_, err = s.requests.Ask(t.Context(), as("ann"), plain)
	wantError(t, err, ErrFull, "1000 requests about ann are open")
}

// TestAnswerToAFullMailbox: who cannot be told of anything else still gets its answer.
func TestAnswerToAFullMailbox(t *testing.T) {
	s := open(t, &Options{MaxUnread: 1})
	r := askFor(t, s, planOf("a"))
	sent, err := s.mail.Send(t.Context(), as("bob"), mail.Outgoing{To: []string{"ann"}, Text: "Hello."})
	ok(t, sent, err)
	_, err = s.requests.Expire(t.Context(), r.ID, func(requests.Request) mail.Outgoing { return mail.Outgoing{Text: "No answer."} })
	ok(t, 0, err)
	unread, err := s.mail.Unread(t.Context(), "ann")
	if ok(t, unread, err); len(unread) != 2 || unread[1].Text != "No answer." {
		t.Errorf("ann has %+v", unread)
	}
}

// TestRequestToAFullMailbox: who cannot be told is not asked.
func TestRequestToAFullMailbox(t *testing.T) {
	s := open(t, &Options{MaxUnread: 1})
	askFor(t, s, planOf("a"))
	_, err := s.requests.Ask(t.Context(), as("ann"), planOf("b"))
	wantError(t, err, ErrFull, "lead has 1 unread messages")
	open, err := s.requests.Open(t.Context(), "")
	if ok(t, open, err); len(open) != 1 {
		t.Errorf("%d are open", len(open))
	}
}

// TestCheckSeesRequestDamage: each invariant of requests is broken by hand.
func TestCheckSeesRequestDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(tx *bolt.Tx, id string) error
		says string
	}{
		"garbage": {func(tx *bolt.Tx, id string) error {
			return tx.Bucket([]byte(bucketRequests)).Put([]byte(id), []byte("{"))
		}, "request"},
		"of oneself": {editRequest(`"to":"lead"`, `"to":"ann"`), `to be answered by "ann"`},
		"odd state":  {editRequest(`"state":"open"`, `"state":"maybe"`), `state "maybe"`},
		"half closed": {editRequest(`"state":"open"`, `"state":"approved"`),
			"is approved and has number 0 of 0 closed ones"},
		"elsewhere": {editRequest(`"id":"`, `"id":"0`), "instead of"},
		"not listed": {func(tx *bolt.Tx, id string) error {
			return tx.Bucket([]byte(bucketOpen)).Delete(store.NameKey("ann", []byte(id)...))
		}, "index open lacks"},
		"listed as closed": {func(tx *bolt.Tx, id string) error {
			return plant(tx, bucketClosed, store.NumKey(7), id)
		}, "closed request 7"},
		"another question": {func(tx *bolt.Tx, id string) error {
			return plant(tx, bucketAsked, []byte("x"), id)
		}, "question of request"},
		"a question of nobody": {func(tx *bolt.Tx, _ string) error {
			return plant(tx, bucketAsked, []byte("x"), "none")
		}, `question "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
			ok(t, s, err)
			defer s.Close()
			r := askFor(t, s, planOf("k"))
			if err := raw(t, s).Update(func(tx *bolt.Tx) error { return tc.do(tx, r.ID) }); err != nil {
				t.Fatal(err)
			}
			wantError(t, s.Check(t.Context()), ErrCorrupt, tc.says)
		})
	}
}

// editRequest changes the text of the stored request.
func editRequest(old, new string) func(*bolt.Tx, string) error {
	return func(tx *bolt.Tx, id string) error {
		b := tx.Bucket([]byte(bucketRequests))
		was := string(b.Get([]byte(id)))
		if !strings.Contains(was, old) {
			return fmt.Errorf("%s does not hold %s", was, old)
		}
		return plant(tx, bucketRequests, []byte(id), strings.Replace(was[:len(was)-sealSize], old, new, 1))
	}
}
