package acp

import (
	"encoding/json"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// closing records what a program has said since its last tool call. Some programs report
// failures as text of the model: the prompt ends normally, and only that text shows it.
type closing struct {
	chunks int
	last   string // the last chunk
	failed bool   // the program has marked that the turn failed (codex-acp 2.6)
}

// say records a chunk.
func (c *closing) say(words string) { c.chunks, c.last = c.chunks+1, words }

// systemError reports whether the _meta of an update says that a turn has failed.
func systemError(meta json.RawMessage) bool {
	status := program.Fields(program.Fields(program.Fields(meta)["codex"])["threadStatus"])
	return texts.Text(status["type"]) == "systemError"
}

// reportedFailure returns the failure that a program reports as text of the model, or nil. A
// model's text arrives in many chunks, or is the whole answer; so after a tool call only
// text in a single chunk counts.
func (t *talk) reportedFailure(now time.Time) error {
	c := t.closing
	switch {
	case c.failed && c.last != "":
		if err := program.ReplyFailure(c.last, now); err != nil {
			return err
		}
		return program.Diagnose(c.last, "", now)
	case t.rec.Made == 0:
		return program.ReplyFailure(t.rec.Last, now)
	case c.chunks == 1:
		return program.ReplyFailure(c.last, now)
	}
	return nil
}
