package tasks

import (
	"context"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/actors"
)

// TestDeadlineOfACaller: a caller that has only so much time is told that its change may
// still happen, and finds out from the receipt: the disk may hang.
func TestDeadlineOfACaller(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	held := false
	s := open(t, &Options{commit: func(tx *bolt.Tx) error {
		if !held {
			held = true
			close(entered)
			<-leave
		}
		return tx.Commit()
	}})
	go func() { // fills the committer, whose disk hangs
		if err := s.Put(context.WithoutCancel(t.Context()), "b", []byte("1")); err != nil {
			t.Error(err)
		}
	}()
	<-entered
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	_, err := s.Add(ctx, actors.Actor{Name: "ann", CallID: "c"}, []New{{Subject: "s"}})
	wantError(t, err, context.DeadlineExceeded)
	close(leave)
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil { // comes after it
		t.Fatal(err)
	}
}

// TestCancelledCaller: a caller whose context ends while its change is on its way to the
// disk is told what became of it; one whose context has ended before changes nothing.
func TestCancelledCaller(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	held := false
	s := open(t, &Options{commit: func(tx *bolt.Tx) error {
		if !held {
			held = true
			close(entered)
			<-leave
		}
		return tx.Commit()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := s.Add(ctx, actors.Actor{Name: "ann", CallID: "c"}, []New{{Subject: "s"}})
		result <- err
	}()
	<-entered
	cancel()
	select {
	case err := <-result:
		t.Fatalf("it was told %v before the commit", err)
	default:
	}
	close(leave)
	if err := <-result; err != nil {
		t.Errorf("the change is on the disk, and its caller was told %v", err)
	}
	if err := s.Put(t.Context(), "a", []byte("1")); err != nil { // comes after it
		t.Fatal(err)
	}
	r, found, err := s.Receipt(t.Context(), "ann", "c")
	if err != nil || !found || len(r.Tasks) != 1 {
		t.Errorf("receipt %+v, %v, %v: who asks again must learn that it happened", r, found, err)
	}
	_, err = s.Add(ctx, actors.Actor{}, []New{{Subject: "never"}})
	wantError(t, err, context.Canceled)
	list, err := s.List(t.Context())
	wantList(t, "tasks", ids(ok(t, list, err)), []string{"1"})
	_, err = s.List(ctx)
	wantError(t, err, context.Canceled)
}
