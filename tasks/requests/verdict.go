package requests

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks/store"
)

// maxVerdicts is how many verdicts are kept; the oldest is dropped first. A verdict is
// useful for the hours in which the same tree may occur again.
const maxVerdicts = 1000

// VerdictKey identifies what a verdict is about: no gate runs again on a tree that it has
// agreed to. The same gate on the same files for the same piece of work gives the same
// result.
type VerdictKey struct {
	Tree string `json:"tree"` // git's hash of the files that the gate saw
	// Gate is a hash of the gate: its command, and the content of the scripts that
	// the command names.
	Gate string `json:"gate"`
	// Subject is the piece of work that the gate gets on stdin, a task's id: a
	// verdict on one task's evidence says nothing about another task.
	Subject string `json:"subject"`
}

// Verdict is the result of a gate.
type Verdict struct {
	VerdictKey
	Command  string        `json:"command"` // of the gate, as in the spec
	Moment   string        `json:"moment"`  // when it ran: task or merge
	Member   string        `json:"member,omitempty"`
	Pass     bool          `json:"pass"`
	Feedback string        `json:"feedback,omitempty"` // of a refusal, as the member saw it
	Log      string        `json:"log,omitempty"`      // the gate's output, both streams
	Duration time.Duration `json:"duration_ns"`
	Time     time.Time     `json:"time"` // set by the store
}

// verdictRecord is a verdict as stored.
type verdictRecord struct {
	Verdict
	Number uint64      `json:"number"` // its entry in judgedBucket
	Files  store.Files `json:"files,omitempty"`
}

// key returns the key of the verdict about k.
func (k VerdictKey) key() []byte {
	return store.NameKey(k.Subject, store.NameKey(k.Tree, []byte(k.Gate)...)...)
}

// check rejects what cannot be a key.
func (k VerdictKey) check() error {
	for what, name := range map[string]string{"tree": k.Tree, "gate": k.Gate, "subject": k.Subject} {
		if err := store.CheckName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// VerdictBook keeps the verdicts of a team.
type VerdictBook struct{ db *store.DB }

// NewVerdictBook returns the verdicts in db.
func NewVerdictBook(db *store.DB) *VerdictBook { return &VerdictBook{db} }

// Add stores a verdict and replaces an earlier one with the same Key. If there are
// more than 1,000, the oldest is dropped.
func (b *VerdictBook) Add(ctx context.Context, v Verdict) error {
	if err := v.check(); err != nil {
		return err
	}
	c := b.db.Job("judge")
	rec := &verdictRecord{Verdict: v}
	rec.Command = store.Clean(v.Command)
	for field, text := range rec.texts() {
		packed, err := c.Pack(*text)
		if err != nil {
			return c.Abandon(err)
		}
		*text = rec.Files.Put(field, packed)
	}
	return c.Submit(ctx, func(t *store.Tx) error { return rec.store(t) })
}

// texts returns the fields that may be in files.
func (r *verdictRecord) texts() map[string]*string {
	return map[string]*string{"feedback": &r.Feedback, "log": &r.Log}
}

// store deletes the verdict that it replaces and drops the oldest. A replaced verdict
// gets a new number, so that verdicts that are renewed often are not dropped.
func (r *verdictRecord) store(t *store.Tx) error {
	key := r.key()
	if err := dropVerdict(t, key); err != nil {
		return err
	}
	newest, _ := t.Bucket(judgedBucket).Cursor().Last()
	r.Time, r.Number = t.Now(), store.LastNum(newest)+1
	t.Store(store.Place{Bucket: verdictsBucket, Key: key}, r, r.Files.Blobs(), nil)
	t.Put(judgedBucket, store.NumKey(r.Number), key)
	if r.Number <= maxVerdicts {
		return nil
	}
	oldest := bytes.Clone(t.Bucket(judgedBucket).Get(store.NumKey(r.Number - maxVerdicts)))
	if oldest == nil { // a newer verdict with the same Key has replaced it
		return nil
	}
	if err := dropVerdict(t, oldest); err != nil {
		t.Fail(err)
	}
	return nil
}

// dropVerdict deletes the verdict under a key, if there is one.
func dropVerdict(t *store.Tx, key []byte) error {
	data := t.Bucket(verdictsBucket).Get(key)
	if data == nil {
		return nil
	}
	had, err := store.Decode[verdictRecord]("verdict", data)
	if err != nil {
		return err
	}
	t.Erase(store.Place{Bucket: verdictsBucket, Key: key}, had.Files.Blobs())
	t.Delete(judgedBucket, store.NumKey(had.Number))
	return nil
}

// Find returns the last verdict for k. The bool is false if there is none.
func (b *VerdictBook) Find(ctx context.Context, k VerdictKey) (Verdict, bool, error) {
	found := false
	v, err := store.View(ctx, b.db, "verdict on tree "+store.Clip(k.Tree), func(r store.Reader) (Verdict, error) {
		data := r.Bucket(verdictsBucket).Get(k.key())
		if found = data != nil; !found {
			return Verdict{}, nil
		}
		return openVerdict(r, data)
	})
	return v, found && err == nil, err
}

// About returns the verdicts on one piece of work, oldest first; an empty subject
// means all.
func (b *VerdictBook) About(ctx context.Context, subject string) ([]Verdict, error) {
	list, err := store.View(ctx, b.db, "verdicts", func(r store.Reader) ([]Verdict, error) {
		var prefix []byte
		if subject != "" {
			prefix = store.NameKey(subject)
		}
		return store.All(r, verdictsBucket, prefix, func(_, data []byte) (Verdict, error) { return openVerdict(r, data) })
	})
	slices.SortStableFunc(list, func(a, b Verdict) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Command, b.Command))
	})
	return list, err
}

// openVerdict returns a stored verdict with the texts that are in files filled in.
func openVerdict(r store.Reader, data []byte) (Verdict, error) {
	rec, err := store.Decode[verdictRecord]("verdict", data)
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

// CheckVerdicts checks the verdicts and their entries in judgedBucket.
func CheckVerdicts(c *store.Checker) {
	n := 0
	store.CheckAll(c, verdictsBucket, "verdict %q", func(k []byte, rec *verdictRecord) {
		n++
		c.SameKey("verdict of "+rec.Command, k, rec.key())
		c.SameKey(fmt.Sprintf("verdict %d", rec.Number), c.Bucket(judgedBucket).Get(store.NumKey(rec.Number)), k)
		c.Expect(judgedBucket, store.NumKey(rec.Number))
		c.Needs(store.Place{Bucket: verdictsBucket, Key: k}, rec.Files.Blobs())
	})
	if n > maxVerdicts {
		c.Fault("%d verdicts are kept, more than %d", n, maxVerdicts)
	}
}
