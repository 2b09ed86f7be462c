package tasks

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
)

// lateWords are what a member may still say of a task that it believes to be its own.
func lateWords(t *testing.T, s *Store, a actors.Actor) map[string]error {
	t.Helper()
	_, _, completed := s.Update(t.Context(), a, "1", Patch{Status: ptr(Completed)})
	_, _, pending := s.Update(t.Context(), a, "1", Patch{Status: ptr(Pending)})
	_, _, handed := s.Update(t.Context(), a, "1", Patch{Status: ptr(Pending), Owner: ptr("cy")})
	_, deleted := s.Delete(t.Context(), a, "1", nil)
	return map[string]error{
		"complete": completed, "give back": pending, "hand over": handed, "delete": deleted,
		"before": s.CheckNotLost(t.Context(), a, "1"),
	}
}

// TestLateWords: who lost a task says nothing of its status that counts, until it has
// read that the task is somebody else's (ADVERSARIAL.md 21). Its session is not over:
// only the task is gone.
func TestLateWords(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "slow work"})
	ann := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
	claim(t, s, "1", "ann")
	if err := s.CheckNotLost(t.Context(), ann, "1"); err != nil {
		t.Errorf("while it is hers: %v", err)
	}
	p := Patch{Owner: ptr("bob"), Reason: "ann has been silent for 10m"}
	task, _, err := s.Update(t.Context(), as("lead"), "1", p)
	ok(t, task, err)
	for word, err := range lateWords(t, s, ann) {
		if wantError(t, err, ErrStale, "taken from ann", "silent for 10m", "with bob", "epoch 2, not 1"); t.Failed() {
			t.Fatal(word)
		}
	}
	if now := get(t, s, "1"); now.Version != task.Version || now.Owner != "bob" {
		t.Errorf("the task has changed: %+v", now)
	}
	wantList(t, "mail of ann", unread(t, s, "ann"), []string{"task_lost lead: Task 1 is not yours any more: " +
		"slow work (ann has been silent for 10m)\nIt is in_progress, with bob. Leave it to bob."})
	list, err := s.mail.Unread(t.Context(), "ann")
	if err := s.mail.Deliver(t.Context(), as("ann"), []string{ok(t, list, err)[0].ID}); err != nil {
		t.Fatal(err)
	}
	// From here on she knows, and a member may complete what another one has done.
	_, _, err = s.Update(t.Context(), ann, "1", Patch{Status: ptr(Completed)})
	ok(t, 0, err)
}

// TestLateWordsAfterARestart: what a member lost while nobody ran it is refused in its
// next session, which hears of it before all else.
func TestLateWordsAfterARestart(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	add(t, s, New{})
	add(t, s, New{})
	attach(t, s, "ann")
	claim(t, s, "1", "ann")
	claim(t, s, "2", "ann")
	list, err := s.Release(t.Context(), actors.Actor{}, "ann", "its agent is gone")
	wantList(t, "released", ids(ok(t, list, err)), []string{"1", "2"})
	wantList(t, "mail of one who is gone", unread(t, s, "ann"), []string{})
	_, err = s.Delete(t.Context(), as("lead"), "2", nil)
	ok(t, 0, err)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	ann := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
	for word, err := range lateWords(t, s, ann) {
		if wantError(t, err, ErrStale, "its agent is gone", "it is pending"); t.Failed() {
			t.Fatal(word)
		}
	}
	wantList(t, "mail", unread(t, s, "ann"), []string{"task_lost : Task 1 is not yours any more: a task " +
		"(its agent is gone)\nIt is pending. Claim it if you are still to do it."})
	again, err := s.Claim(t.Context(), ann, "1", Claim{})
	ok(t, again, err)
	_, _, err = s.Update(t.Context(), ann, "1", Patch{Status: ptr(Completed)})
	ok(t, 0, err)
}

// TestOwnDoingIsNoLoss: who gives a task away itself knows.
func TestOwnDoingIsNoLoss(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		add(t, s, New{})
	}
	for _, id := range []string{"1", "2", "3"} {
		claim(t, s, id, "ann")
	}
	_, _, err := s.Update(t.Context(), as("ann"), "1", Patch{Owner: ptr("bob")})
	ok(t, 0, err)
	_, _, err = s.Update(t.Context(), as("ann"), "2", Patch{Status: ptr(Pending)})
	ok(t, 0, err)
	_, _, err = s.Update(t.Context(), as("lead"), "3", Patch{Status: ptr(Completed)})
	ok(t, 0, err)
	for _, id := range []string{"1", "2", "3"} {
		if err := s.CheckNotLost(t.Context(), as("ann"), id); err != nil {
			t.Errorf("task %s: %v", id, err)
		}
	}
	wantList(t, "mail of ann", unread(t, s, "ann"), []string{})
	wantError(t, s.CheckNotLost(t.Context(), as("ann"), "9"), ErrNotFound)
	wantError(t, s.CheckNotLost(t.Context(), actors.Actor{Name: "ann", Session: 7}, "1"), ErrStale)
}

// TestDeletingSaysSo: the journal tells a task that was deleted from one that was done.
func TestDeletingSaysSo(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		add(t, s, New{})
	}
	claim(t, s, "2", "ann")
	setStatus(t, s, "3", Completed)
	drain(t, s)
	for _, id := range []string{"1", "2", "3"} {
		_, err := s.Delete(t.Context(), as("ann"), id, nil)
		ok(t, 0, err)
	}
	var have []string
	for _, e := range drain(t, s) {
		have = append(have, e.Data.(Change).Reason)
	}
	want := []string{"it was not done; no gate was asked",
		"it was not done (in_progress, owned by ann); no gate was asked", ""}
	if strings.Join(have, "|") != strings.Join(want, "|") {
		t.Errorf("reasons %q, want %q", have, want)
	}
}
