package tasks

import (
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// Evidence shows that a task is done: a test's output, a link, a file. Gates receive
// it, and people see it with the task. It is a claim of whoever attached it; gates
// check it.
type Evidence struct {
	By   string    `json:"by"` // the actor who attached it; empty: covey
	Time time.Time `json:"time,omitzero"`
	Text string    `json:"text,omitempty"` // 4 KiB at most
	File string    `json:"file,omitempty"` // path of a file that holds more; the store does not check that it exists
}

// Limits of a task's evidence. A task is rewritten with each change, so long texts
// belong into a file.
const (
	maxEvidence     = 20
	maxEvidenceText = 4 << 10
	maxEvidenceFile = 1 << 10
)

// cleanEvidence checks the texts and paths of a caller. By and Time are not the
// caller's to set.
func cleanEvidence(list []Evidence) ([]Evidence, error) {
	out := make([]Evidence, 0, len(list))
	for _, e := range list {
		text, file := store.Clean(e.Text), store.Clean(e.File)
		switch {
		case text == "" && file == "":
			return nil, fmt.Errorf("%w: empty evidence; give a text or the path of a file", ErrInvalid)
		case len(text) > maxEvidenceText:
			return nil, fmt.Errorf("%w: evidence of %d bytes, at most %d are allowed; put it into a file and give its path",
				ErrInvalid, len(text), maxEvidenceText)
		case len(file) > maxEvidenceFile:
			return nil, fmt.Errorf("%w: evidence whose path has %d bytes, at most %d are allowed",
				ErrInvalid, len(file), maxEvidenceFile)
		}
		out = append(out, Evidence{Text: text, File: file})
	}
	return out, nil
}

// attach adds evidence to a task. Evidence that the task already has is not added
// again, so that a repeated call changes nothing.
func (r *taskRecord) attach(a actors.Actor, at time.Time, list []Evidence) (changed bool, err error) {
	for _, e := range list {
		if slices.ContainsFunc(r.Evidence, func(had Evidence) bool { return had.Text == e.Text && had.File == e.File }) {
			continue
		}
		e.By, e.Time = a.Name, at
		r.Evidence = append(r.Evidence, e)
		changed = true
	}
	if n := len(r.Evidence); n > maxEvidence {
		return false, fmt.Errorf("%w: task %s would have %d pieces of evidence, at most %d are allowed; "+
			"put them into one file and give its path", ErrInvalid, r.ID, n, maxEvidence)
	}
	return changed, nil
}
