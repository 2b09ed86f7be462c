package tasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

// furnished makes a store with one of everything.
func furnished(t *testing.T) (s *Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tasks.db")
	s = openAt(t, path, nil)
	attach(t, s, "ann")
	long := strings.Repeat("x", store.InlineLimit+1)
	add(t, s, New{})
	add(t, s, New{BlockedBy: []string{"1"}})
	add(t, s, New{Owner: "bob", Description: long})
	claim(t, s, "1", "ann")
	add(t, s, New{})
	_, err := s.Create(t.Context(), call("c"), New{Subject: "s"})
	ok(t, 0, err)
	_, err = s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "x"})
	ok(t, 0, err)
	if err := s.Put(t.Context(), "k", []byte("1")); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// plant puts an entry into a store behind its back, with its checksum.
func plant(tx *bolt.Tx, bucket string, key []byte, value string) error {
	return tx.Bucket([]byte(bucket)).Put(key, seal(bucket, key, []byte(value)))
}

// TestCheckSeesDamage: each invariant is broken by hand, and Check says so.
func TestCheckSeesDamage(t *testing.T) {
	put := func(bucket string, key []byte, value string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error { return plant(tx, bucket, key, value) }
	}
	del := func(bucket string, key []byte) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			if tx.Bucket([]byte(bucket)).Get(key) == nil {
				return fmt.Errorf("bucket %s has no key %q", bucket, key)
			}
			return tx.Bucket([]byte(bucket)).Delete(key)
		}
	}
	edit := func(bucket string, key []byte, old, new string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			was := string(tx.Bucket([]byte(bucket)).Get(key))
			if !strings.Contains(was, old) {
				return fmt.Errorf("%s does not hold %s", was, old)
			}
			return plant(tx, bucket, key, strings.Replace(was[:len(was)-sealSize], old, new, 1))
		}
	}
	for name, damage := range map[string]struct {
		do   func(*bolt.Tx) error
		says string
	}{
		"garbage task":        {put(bucketTasks, store.NumKey(2), "{"), "tasks 0000000000000002"},
		"task elsewhere":      {edit(bucketTasks, store.NumKey(2), `"id":"2"`, `"id":"7"`), `holds task "7"`},
		"no owner":            {edit(bucketTasks, store.NumKey(1), `"owner":"ann"`, `"owner":""`), "task 1 is in progress and has no owner"},
		"odd status":          {edit(bucketTasks, store.NumKey(1), `"in_progress"`, `"paused"`), `status "paused"`},
		"proposed among all":  {edit(bucketTasks, store.NumKey(4), `"pending"`, `"proposed"`), "in bucket tasks"},
		"version 0":           {edit(bucketTasks, store.NumKey(4), `"version":1`, `"version":0`), "version 0"},
		"stored blocks":       {edit(bucketTasks, store.NumKey(4), `"blocks":null`, `"blocks":["1"]`), "blocks [1]"},
		"twice":               {put(bucketProposed, store.NumKey(4), `{"id":"4","status":"proposed"}`), "both proposed and confirmed"},
		"garbage proposal":    {put(bucketProposed, store.NumKey(5), "x"), "proposed 0000000000000005"},
		"high-water mark":     {put(bucketMeta, []byte("task"), string(store.NumKey(3))), "above the high-water mark 3"},
		"unknown blocker":     {edit(bucketTasks, store.NumKey(2), `["1"]`, `["9"]`), `waits for "9", which is no task`},
		"blocker twice":       {edit(bucketTasks, store.NumKey(2), `["1"]`, `["1","1"]`), "blocker 1 twice"},
		"cycle":               {edit(bucketTasks, store.NumKey(1), `"blockedBy":[]`, `"blockedBy":["2"]`), "dependency cycle: task 1 blocks 2 blocks 1"},
		"not ready":           {put(bucketReady, store.NumKey(2), ""), "index ready holds"},
		"ready lost":          {del(bucketReady, store.NumKey(4)), "index ready lacks"},
		"owner lost":          {del(bucketOwner, store.NameNumKey("bob", 3)), "index owner lacks"},
		"wrong owner":         {put(bucketOwner, store.NameNumKey("cy", 3), ""), "index owner holds"},
		"progress lost":       {del(bucketProgress, store.NameNumKey("ann", 1)), "index progress lacks"},
		"wrong progress":      {put(bucketProgress, store.NameNumKey("bob", 3), ""), "index progress holds"},
		"dependency lost":     {del(bucketDeps, store.PairKey(1, 2)), "index deps lacks"},
		"wrong dependency":    {put(bucketDeps, store.PairKey(1, 3), ""), "index deps holds"},
		"wait lost":           {del(bucketWaits, store.PairKey(2, 1)), "index waits lacks"},
		"wrong wait":          {put(bucketWaits, store.PairKey(2, 3), ""), "index waits holds"},
		"garbage message":     {put(bucketMail, store.NameNumKey("bob", 1), "x"), "message"},
		"message elsewhere":   {edit(bucketMail, store.NameNumKey("bob", 1), `"to":"bob"`, `"to":"cy"`), "instead of"},
		"message from future": {edit(bucketMail, store.NameNumKey("bob", 2), `"seq":2`, `"seq":9`), "sequence number 9, and the last one is 2"},
		"message lost":        {del(bucketMail, store.NameNumKey("bob", 2)), "counted as 2"},
		"count lost":          {del(bucketUnread, store.NameKey("bob")), "2 unread messages of \"bob\" are not counted"},
		"count of nothing":    {put(bucketUnread, store.NameKey("cy"), string(store.NumKey(1))), "has 0 unread messages, counted as 1"},
		"stray message id":    {put(bucketMailID, store.NameKey("bob", 'x'), string(store.NumKey(1))), "index mailid holds"},
		"garbage member":      {put(bucketMembers, []byte("ann"), "[]"), "member ann"},
		"member elsewhere":    {put(bucketMembers, []byte("cy"), `{"name":"bob","epoch":1}`), "member bob is stored under"},
		"member of epoch 0":   {put(bucketMembers, []byte("ann"), `{"name":"ann"}`), "never attached"},
		"garbage event":       {put(bucketOutbox, store.NumKey(1), "x"), "event 1"},
		"event from future":   {put(bucketOutbox, store.NumKey(99), `{"delivered":"x"}`), "event 0000000000000063 of"},
		"empty event":         {put(bucketOutbox, store.NumKey(1), `{}`), "has no payload"},
		"garbage receipt":     {put(bucketReceipts, callKey("ann", "c", "create"), "12345678{"), "receipt"},
		"receipt lost":        {del(bucketReceipts, callKey("ann", "c", "create")), "index calls holds"},
		"call lost":           {del(bucketCalls, store.NameNumKey("ann", 1)), "index calls lacks"},
		"garbage value":       {put(bucketValues, []byte("k"), "1"), "value k"},
		"stray reference":     {put(bucketRefs, store.NameKey("FILE", 'x'), ""), "index references holds"},
		"unknown bucket":      {func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err }, `unknown bucket "x"`},
		"missing bucket":      {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucketWaits)) }, "bucket waits is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := furnished(t)
			if err := s.Check(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			rawBolt(t, path, damage.do)
			damaged, err := Open(path, nil)
			ok(t, damaged, err)
			defer damaged.Close()
			wantError(t, damaged.Check(t.Context()), ErrCorrupt, damage.says)
		})
	}
}

func TestCheckStopsListing(t *testing.T) {
	s := open(t, nil)
	err := raw(t, s).Update(func(tx *bolt.Tx) error {
		for i := range uint64(500) {
			if err := plant(tx, bucketReady, store.NumKey(i), ""); err != nil {
				return err
			}
		}
		return nil
	})
	ok(t, 0, err)
	err = s.Check(t.Context())
	if n := strings.Count(err.Error(), "\n") + 1; n != maxFaults {
		t.Errorf("%d faults listed", n)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, s.Check(cancelled), context.Canceled)
	if err := raw(t, s).Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucketReady)) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // before the last check of open
		t.Fatal(err)
	}
}

// TestDamagedRecordsAreErrors: reading and changing damaged records fails with
// ErrCorrupt and leaves the rest usable.
func TestDamagedRecordsAreErrors(t *testing.T) {
	s, path := furnished(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rawBolt(t, path, func(tx *bolt.Tx) error {
		for bucket, key := range map[string][]byte{
			bucketTasks: store.NumKey(1), bucketMembers: []byte("ann"), bucketValues: []byte("k"), bucketOutbox: store.NumKey(1),
			bucketMail: store.NameNumKey("bob", 1), bucketReceipts: callKey("ann", "c", "create"),
		} {
			if err := tx.Bucket([]byte(bucket)).Put(key, []byte(`12345678"blob":"`)); err != nil {
				return err
			}
		}
		return nil
	})
	d, err := Open(path, nil)
	ok(t, d, err)
	defer d.Close()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Task":       func() error { _, err := d.Task(ctx, "1"); return err },
		"List":       func() error { _, err := d.List(ctx); return err },
		"Snapshot":   func() error { _, err := d.Snapshot(ctx); return err },
		"InProgress": func() error { _, err := d.InProgress(ctx, "ann"); return err },
		"Claim":      func() error { _, err := d.Claim(ctx, as("ann"), "1", Claim{}); return err },
		"Release":    func() error { _, err := d.Release(ctx, actors.Actor{}, "ann", ""); return err },
		"Attach":     func() error { _, err := d.members.Attach(ctx, "ann", nil); return err },
		"SetMember":  func() error { return d.members.Set(ctx, actors.Member{Name: "ann"}) },
		"Members":    func() error { _, err := d.members.List(ctx); return err },
		"session":    func() error { return d.Refuse(ctx, actors.Actor{Name: "ann", Session: 1}, "2", "") },
		"Value":      func() error { _, _, err := d.Value(ctx, "k"); return err },
		"Put":        func() error { return d.Put(ctx, "k", nil) },
		"Events":     func() error { _, err := d.outbox.Events(ctx, 0, 0); return err },
		"Settle":     func() error { return d.outbox.Remove(ctx, 1) },
		"Unread":     func() error { _, err := d.mail.Unread(ctx, "bob"); return err },
		"Receipt":    func() error { _, _, err := d.Receipt(ctx, "ann", "c"); return err },
		"repeat":     func() error { _, err := d.Create(ctx, call("c"), New{Subject: "s"}); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), ErrCorrupt.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if task := claim(t, d, "4", "bob"); task.Owner != "bob" {
		t.Errorf("an undamaged task: %+v", task)
	}
}

// TestNotAFolder: what stands in the way of the payload folder is named.
func TestNotAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	if err := os.WriteFile(path+".blobs", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, nil)
	if err == nil || !strings.Contains(err.Error(), "tasks.db.blobs") {
		t.Errorf("error %v", err)
	}
}
