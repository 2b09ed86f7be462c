package acp

import (
	"encoding/json"
	"time"

	"github.com/coveyteam/covey/teammate/program"
)

// closing is what a program has said since its last tool call. Programs tell of failures in
// the model's place: the prompt ends as if all was well, and the words are all there is.
type closing struct {
	chunks int
	last   string // the last chunk
	failed bool   // the program has marked that the turn failed (codex-acp 2.6)
}

// say takes in a chunk.
func (c *closing) say(words string) { c.chunks, c.last = c.chunks+1, words }

// systemError reports whether the _meta of an update says that a turn has failed.
func systemError(meta json.RawMessage) bool {
	status := fieldsOf(fieldsOf(fieldsOf(meta)["codex"])["threadStatus"])
	return text(status["type"]) == "systemError"
}

// confession is the failure that a program tells of in its own words, in the model's place;
// nil: it does not. What a model says comes in many pieces, or is all that there is of it:
// behind a tool call only words count that came as one piece.
func (t *talk) confession(now time.Time) error {
	c := t.closing
	switch {
	case c.failed && c.last != "":
		if err := program.Confession(c.last, now); err != nil {
			return err
		}
		return program.Diagnose(c.last, "", now)
	case t.rec.made == 0:
		return program.Confession(t.rec.last, now)
	case c.chunks == 1:
		return program.Confession(c.last, now)
	}
	return nil
}
