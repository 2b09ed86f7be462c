// Package verdicts keeps what gates said about trees of files, so that no gate is
// asked twice about the same.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package verdicts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks/kv"
)

// The buckets of this package.
const (
	verdictsBucket = "verdicts" // subject, tree, gate -> record
	judgedBucket   = "judged"   // number of each verdict, by age -> key in verdictsBucket
)

// Buckets lists them.
func Buckets() []string { return []string{verdictsBucket, judgedBucket} }

// Indexes are the buckets that follow from the verdicts.
func Indexes() []string { return []string{judgedBucket} }

// most is how many verdicts are kept, oldest dropped first. A verdict is
// of use for as long as its tree may be met again, which is hours.
const most = 1000

// Key is what a verdict is about. A verdict belongs to a tree: the same
// gate on the same files for the same piece of work says the same.
type Key struct {
	Tree string `json:"tree"` // git's name of the files that the gate saw
	// Gate is a hash of the gate: its command, and the content of the scripts that
	// the command names.
	Gate string `json:"gate"`
	// Subject is the piece of work that the gate is told of on its stdin, a task's
	// id: a gate that looks for a task's evidence says nothing about another task.
	Subject string `json:"subject"`
}

// Verdict is what a gate said.
type Verdict struct {
	Key
	Command  string        `json:"command"` // of the gate, as the spec has it
	Moment   string        `json:"moment"`  // when it was asked: task or merge
	Member   string        `json:"member,omitempty"`
	Pass     bool          `json:"pass"`
	Feedback string        `json:"feedback,omitempty"` // of a refusal, as the member saw it
	Log      string        `json:"log,omitempty"`      // the gate's output, both streams
	Duration time.Duration `json:"duration_ns"`
	Time     time.Time     `json:"time"` // set by the store
}

// record is a verdict as stored.
type record struct {
	Verdict
	Number uint64   `json:"number"` // its entry in judgedBucket
	Files  kv.Files `json:"files,omitempty"`
}

// key is where the verdicts about k stand.
func (k Key) key() []byte {
	return kv.NameKey(k.Subject, kv.NameKey(k.Tree, []byte(k.Gate)...)...)
}

// check refuses what cannot be a key.
func (k Key) check() error {
	for what, name := range map[string]string{"tree": k.Tree, "gate": k.Gate, "subject": k.Subject} {
		if err := kv.CheckName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// Book keeps the verdicts of a team.
type Book struct{ db *kv.DB }

// NewBook gives the verdicts in db.
func NewBook(db *kv.DB) *Book { return &Book{db} }

// Add stores a verdict in place of an earlier one about the same. The oldest
// of more than 1,000 is dropped with it.
func (b *Book) Add(ctx context.Context, v Verdict) error {
	if err := v.check(); err != nil {
		return err
	}
	c := b.db.Job("judge")
	rec := &record{Verdict: v}
	rec.Command = kv.Clean(v.Command)
	for field, text := range rec.texts() {
		packed, err := c.Pack(*text)
		if err != nil {
			return c.Abandon(err)
		}
		*text = rec.Files.Put(field, packed)
	}
	return c.Submit(ctx, func(t *kv.Tx) error { return rec.store(t) })
}

// texts are the fields that may be in files.
func (r *record) texts() map[string]*string {
	return map[string]*string{"feedback": &r.Feedback, "log": &r.Log}
}

// store decides with what it reads and writes then. A verdict that replaces one
// gets a new number, so that what is asked often is not dropped.
func (r *record) store(t *kv.Tx) error {
	key := r.key()
	if err := drop(t, key); err != nil {
		return err
	}
	newest, _ := t.Bucket(judgedBucket).Cursor().Last()
	r.Time, r.Number = t.Now(), kv.LastNum(newest)+1
	t.Store(kv.Place{Bucket: verdictsBucket, Key: key}, r, r.Files.Blobs(), nil)
	t.Put(judgedBucket, kv.NumKey(r.Number), key)
	if r.Number <= most {
		return nil
	}
	oldest := bytes.Clone(t.Bucket(judgedBucket).Get(kv.NumKey(r.Number - most)))
	if oldest == nil { // another verdict about the same has come in its place
		return nil
	}
	if err := drop(t, oldest); err != nil {
		t.Fail(err)
	}
	return nil
}

// drop deletes what stands under a key, if anything does.
func drop(t *kv.Tx, key []byte) error {
	data := t.Bucket(verdictsBucket).Get(key)
	if data == nil {
		return nil
	}
	had, err := kv.Decode[record]("verdict", data)
	if err != nil {
		return err
	}
	t.Erase(kv.Place{Bucket: verdictsBucket, Key: key}, had.Files.Blobs())
	t.Delete(judgedBucket, kv.NumKey(had.Number))
	return nil
}

// Find gives what a gate last said about this; false when it has not been
// asked.
func (b *Book) Find(ctx context.Context, k Key) (Verdict, bool, error) {
	found := false
	v, err := kv.View(ctx, b.db, "verdict on tree "+kv.Clip(k.Tree), func(r kv.Reader) (Verdict, error) {
		data := r.Bucket(verdictsBucket).Get(k.key())
		if found = data != nil; !found {
			return Verdict{}, nil
		}
		return open(r, data)
	})
	return v, found && err == nil, err
}

// About gives what gates have said about one piece of work, oldest first; an
// empty subject stands for all.
func (b *Book) About(ctx context.Context, subject string) ([]Verdict, error) {
	list, err := kv.View(ctx, b.db, "verdicts", func(r kv.Reader) ([]Verdict, error) {
		var prefix []byte
		if subject != "" {
			prefix = kv.NameKey(subject)
		}
		return kv.All(r, verdictsBucket, prefix, func(_, data []byte) (Verdict, error) { return open(r, data) })
	})
	slices.SortStableFunc(list, func(a, b Verdict) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Command, b.Command))
	})
	return list, err
}

// open puts a stored verdict together again.
func open(r kv.Reader, data []byte) (Verdict, error) {
	rec, err := kv.Decode[record]("verdict", data)
	if err != nil {
		return Verdict{}, err
	}
	for field, text := range rec.texts() {
		if *text, err = rec.Files.Text(r.Blobs(), field, *text); err != nil {
			return Verdict{}, err
		}
	}
	return rec.Verdict, nil
}

// Check decodes the verdicts, which judgedBucket lists by age.
func Check(c *kv.Checker) {
	n := 0
	kv.CheckAll(c, verdictsBucket, "verdict %q", func(k []byte, rec *record) {
		n++
		c.SameKey("verdict of "+rec.Command, k, rec.key())
		c.SameKey(fmt.Sprintf("verdict %d", rec.Number), c.Bucket(judgedBucket).Get(kv.NumKey(rec.Number)), k)
		c.Note(judgedBucket, kv.NumKey(rec.Number))
		c.Needs(kv.Place{Bucket: verdictsBucket, Key: k}, rec.Files.Blobs())
	})
	if n > most {
		c.Fault("%d verdicts are kept, more than %d", n, most)
	}
}
