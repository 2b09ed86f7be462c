package tasks

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxVerdicts is how many verdicts are kept, oldest dropped first. A verdict is
// of use for as long as its tree may be met again, which is hours.
const maxVerdicts = 1000

// VerdictKey is what a verdict is about. A verdict belongs to a tree: the same
// gate on the same files for the same piece of work says the same.
type VerdictKey struct {
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
	VerdictKey
	Command  string        `json:"command"` // of the gate, as the spec has it
	Moment   string        `json:"moment"`  // when it was asked: task or merge
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
	Number uint64 `json:"number"` // its entry in bucketJudged
	Files  files  `json:"files,omitempty"`
}

func (r *verdictRecord) blobs() []blobRef { return r.Files.refs() }

// key is where the verdicts about k stand.
func (k VerdictKey) key() []byte {
	return nameKey(k.Subject, nameKey(k.Tree, []byte(k.Gate)...)...)
}

// check refuses what cannot be a key.
func (k VerdictKey) check() error {
	for what, name := range map[string]string{"tree": k.Tree, "gate": k.Gate, "subject": k.Subject} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// Judge stores a verdict in place of an earlier one about the same. The oldest
// of more than 1,000 is dropped with it.
func (s *Store) Judge(ctx context.Context, v Verdict) error {
	if err := v.check(); err != nil {
		return err
	}
	c := &job{op: "judge"}
	rec := &verdictRecord{Verdict: v}
	rec.Command, rec.Feedback, rec.Log = clean(v.Command), "", ""
	for field, text := range map[string]string{"feedback": v.Feedback, "log": v.Log} {
		packed, err := s.pack(c, text)
		if err != nil {
			return s.abandon(c, err)
		}
		rec.set(field, packed)
	}
	c.run = func(t *txn) error { return t.judge(rec) }
	return s.submit(ctx, c)
}

// set puts a payload into the field of that name.
func (r *verdictRecord) set(field string, l long) {
	switch {
	case l.file != nil && r.Files == nil:
		r.Files = files{field: *l.file}
	case l.file != nil:
		r.Files[field] = *l.file
	case field == "log":
		r.Log = l.text
	default:
		r.Feedback = l.text
	}
}

// judge decides with what it reads and writes then. A verdict that replaces one
// gets a new number, so that what is asked often is not dropped.
func (t *txn) judge(rec *verdictRecord) error {
	key := rec.key()
	if err := t.dropVerdict(key); err != nil {
		return err
	}
	rec.Time, rec.Number = t.now, t.lastJudged()+1
	t.store(place{bucketVerdicts, key}, rec, rec.blobs(), nil)
	t.put(bucketJudged, numKey(rec.Number), key)
	if rec.Number <= maxVerdicts {
		return nil
	}
	oldest := bytes.Clone(t.bucket(bucketJudged).Get(numKey(rec.Number - maxVerdicts)))
	if oldest == nil { // another verdict about the same has come in its place
		return nil
	}
	if err := t.dropVerdict(oldest); err != nil {
		t.fail(err)
	}
	return nil
}

// lastJudged is the number of the newest verdict; 0 without any.
func (r reader) lastJudged() uint64 {
	k, _ := r.bucket(bucketJudged).Cursor().Last()
	return lastNum(k)
}

// dropVerdict deletes what stands under a key, if anything does.
func (t *txn) dropVerdict(key []byte) error {
	data := t.bucket(bucketVerdicts).Get(key)
	if data == nil {
		return nil
	}
	had, err := decode[verdictRecord]("verdict", data)
	if err != nil {
		return err
	}
	t.erase(place{bucketVerdicts, key}, had.blobs())
	t.del(bucketJudged, numKey(had.Number))
	return nil
}

// Verdict gives what a gate last said about this; false when it has not been
// asked.
func (s *Store) Verdict(ctx context.Context, k VerdictKey) (Verdict, bool, error) {
	var v Verdict
	found := false
	err := s.view(ctx, func(r reader) error {
		data := r.bucket(bucketVerdicts).Get(k.key())
		if found = data != nil; !found {
			return nil
		}
		var err error
		v, err = r.verdict(data)
		return err
	})
	if err != nil {
		return Verdict{}, false, fmt.Errorf("verdict on tree %s: %w", clip(k.Tree), err)
	}
	return v, found, nil
}

// Verdicts gives what gates have said about one piece of work, oldest first; an
// empty subject stands for all.
func (s *Store) Verdicts(ctx context.Context, subject string) ([]Verdict, error) {
	var list []Verdict
	err := s.view(ctx, func(r reader) error {
		var prefix []byte
		if subject != "" {
			prefix = nameKey(subject)
		}
		list = []Verdict{}
		var failed error
		each(r.bucket(bucketVerdicts), prefix, func(_, data []byte) bool {
			var v Verdict
			if v, failed = r.verdict(data); failed == nil {
				list = append(list, v)
			}
			return failed == nil
		})
		return failed
	})
	if err != nil {
		return nil, fmt.Errorf("verdicts: %w", err)
	}
	slices.SortStableFunc(list, func(a, b Verdict) int {
		if order := a.Time.Compare(b.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Command, b.Command)
	})
	return list, nil
}

// verdict puts a stored verdict together again.
func (r reader) verdict(data []byte) (Verdict, error) {
	rec, err := decode[verdictRecord]("verdict", data)
	if err != nil {
		return Verdict{}, err
	}
	for field, into := range map[string]*string{"feedback": &rec.Feedback, "log": &rec.Log} {
		ref, inFile := rec.Files[field]
		if !inFile {
			continue
		}
		if *into, err = r.files.read(ref); err != nil {
			return Verdict{}, fmt.Errorf("%s: %w", field, err)
		}
	}
	return rec.Verdict, nil
}

// checkVerdicts decodes the verdicts, which bucketJudged lists by age.
func (c *checker) checkVerdicts() {
	n := 0
	each(c.bucket(bucketVerdicts), nil, func(k, v []byte) bool {
		rec, err := decode[verdictRecord](fmt.Sprintf("verdict %q", k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		n++
		c.sameKey("verdict of "+rec.Command, k, rec.key())
		c.sameKey(fmt.Sprintf("verdict %d", rec.Number), c.bucket(bucketJudged).Get(numKey(rec.Number)), k)
		c.note(bucketJudged, numKey(rec.Number))
		c.needs(place{bucketVerdicts, k}, rec.blobs())
		return true
	})
	if n > maxVerdicts {
		c.fault("%d verdicts are kept, more than %d", n, maxVerdicts)
	}
}
