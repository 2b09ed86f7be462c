package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// asks stores questions of a team that does not run, and returns their ids.
func asks(t *testing.T, place state.Place, list ...requests.New) []string {
	t.Helper()
	store, err := tasks.Open(place.Store(), &tasks.Options{BlobDir: place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var ids []string
	for _, n := range list {
		for _, name := range []string{n.Member, "lead"} {
			if _, err := store.Members().Attach(t.Context(), name, func() string { return "11111111-1111-4111-8111-111111111111" }); err != nil {
				t.Fatal(err)
			}
		}
		r, err := store.Requests().Ask(t.Context(), actors.Actor{Name: n.Member}, n)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// TestInboxOfStopped: the questions of a team that does not run are read from its files, and an
// answer waits there for its next run.
func TestInboxOfStopped(t *testing.T) {
	teamtest.StateHome(t)
	place, ctx := teamtest.Place(t, "crew"), t.Context()
	if list, err := ReadInbox(ctx, place, api.InboxQuery{All: true}); err != nil || list == nil ||
		len(list) > 0 {
		t.Errorf("before the first run: %v, %v", list, err)
	}
	if _, stored, err := AnswerInbox(ctx, place, api.InboxAnswer{ID: "r1", Approve: true}); !errors.Is(err, tasks.ErrNotFound) || stored {
		t.Errorf("an answer before the first run: %v, %v", stored, err)
	}
	ids := asks(t, place,
		requests.New{Kind: requests.AskPlan, Member: "ana", To: actors.Operator, Text: "I will do it"},
		requests.New{Kind: requests.AskPermission, Member: "ben", To: actors.Operator, Text: "Bash make"},
		requests.New{Kind: requests.AskShutdown, Member: "ana", To: "lead", Text: "leave"})
	for name, test := range map[string]struct {
		answer api.InboxAnswer
		want   error
	}{
		"nobody asked this":        {api.InboxAnswer{ID: "r99"}, tasks.ErrNotFound},
		"only the lead answers it": {api.InboxAnswer{ID: ids[2], Approve: true}, tasks.ErrInvalid},
		"no plan, but a mode": {api.InboxAnswer{ID: ids[1], Approve: true, Mode: "acceptEdits"},
			tasks.ErrInvalid},
		"a mode that is none": {api.InboxAnswer{ID: ids[0], Approve: true, Mode: "anything"},
			tasks.ErrInvalid},
	} {
		if r, stored, err := AnswerInbox(ctx, place, test.answer); !errors.Is(err, test.want) || stored {
			t.Errorf("%s: %+v, stored %v, %v", name, r, stored, err)
		}
	}
	r, stored, err := AnswerInbox(ctx, place, api.InboxAnswer{ID: ids[0], Approve: true, Feedback: "go", Mode: "acceptEdits"})
	if err != nil || !stored || r.State != requests.Approved || r.By != actors.Operator ||
		r.Feedback != "go" || r.Mode != "acceptEdits" {
		t.Errorf("%+v, stored %v, %v", r, stored, err)
	}
	if _, stored, err := AnswerInbox(ctx, place, api.InboxAnswer{ID: ids[0]}); !errors.Is(err, tasks.ErrAnswered) || stored {
		t.Errorf("a second answer: stored %v, %v", stored, err)
	}
	read := func(q api.InboxQuery) (got []string) {
		list, err := ReadInbox(ctx, place, q)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
		}
		for _, r := range list {
			got = append(got, r.ID+" "+string(r.State))
		}
		return got
	}
	open := ids[1] + " open," + ids[2] + " open"
	for want, q := range map[string]api.InboxQuery{
		open: {}, ids[0] + " approved," + open: {All: true}, ids[0] + " approved": {ID: ids[0]}, ids[1] + " open": {ID: ids[1]},
	} {
		if got := strings.Join(read(q), ","); got != want {
			t.Errorf("%+v: %s, want %s", q, got, want)
		}
	}
	if _, err := ReadInbox(ctx, place, api.InboxQuery{ID: "r99"}); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("a question that nobody asked: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := ReadInbox(over, place, api.InboxQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestAnswerReachesMember: the member finds the answer in its mailbox when the team runs again.
func TestAnswerReachesMember(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	ids := asks(t, place, requests.New{Kind: requests.AskPlan, Member: "ana", To: actors.Operator, Text: "I will do it"})
	if _, _, err := AnswerInbox(t.Context(), place, api.InboxAnswer{ID: ids[0], Feedback: "use the other table"}); err != nil {
		t.Fatal(err)
	}
	store, err := place.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	mail, err := store.Mail().Unread(t.Context(), "ana")
	if err != nil || len(mail) != 1 || !strings.Contains(mail[0].Text, "use the other table") {
		t.Errorf("%+v, %v", mail, err)
	}
}

// TestReviewOfStopped: a team that never ran has no work, one without a repository has none
// either, and of one whose spec is gone the error names the file.
func TestReviewOfStopped(t *testing.T) {
	teamtest.StateHome(t)
	env := New(strings.NewReader(""), io.Discard, io.Discard, "devel")
	place := teamtest.Place(t, "crew")
	read := func() (api.ReviewReply, error) { return env.ReadReview(t.Context(), place, api.ReviewRequest{}) }
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "team crew has never run, so it has no work; covey up starts it") {
		t.Errorf("before the first run: %v", err)
	}
	dir := teamtest.ScriptTeam(t)
	run := func(spec string) {
		teamtest.WriteRun(t, place, func(r *state.RunFile) { r.Spec, r.PID = spec, teamtest.DeadProcess(t) })
	}
	run(dir + "/team.yaml")
	if reply, err := read(); err != nil || len(reply.Reviews)+len(reply.Loose) > 0 {
		t.Errorf("without a repository: %+v, %v", reply, err)
	}
	if _, err := env.Return(t.Context(), place, api.ReturnRequest{Task: "1", Text: "no"}); err == nil {
		t.Error("work that is not there was sent back")
	}
	run(dir + "/gone.yaml")
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("without its spec: %v", err)
	}
}
