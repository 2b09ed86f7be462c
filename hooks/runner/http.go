package runner

import (
	"bytes"
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// bodyPreview is how many characters people see of a body that is not an answer.
const bodyPreview = 200

// reply is the response to an http hook.
type reply struct {
	status  int // 0: no response
	body    answerCapture
	trouble string // why there is no answer; empty if there is one or none is needed
}

// describe copies the reply into a Result, as recorded hosts do.
func (rp *reply) describe(v *Verdict, limit int) {
	v.ExitCode = -1
	if rp.status != 0 {
		v.ExitCode = rp.status
	}
	v.Stdout, v.Stderr = rp.body.text(limit), rp.trouble
	if note := rp.body.cutNote("the response", limit); note != "" {
		v.Warn("%s", note)
	}
}

// runHTTP posts the event to an http handler and reads its answer (HOOKS.md section 3). A
// status never refuses anything, only an answer does.
func (r *run) runHTTP(ctx context.Context, h *armed) (Finding, *reply) {
	found := Finding{Code: -1}
	rp := &reply{body: answerCapture{capture{limit: r.opts.OutputCap}}, trouble: h.endpoint.Fault}
	if rp.trouble == "" {
		rp.status, rp.trouble = h.endpoint.Post(ctx, r.world, bytes.TrimSuffix(r.wire, []byte("\n")), &rp.body)
	}
	switch {
	case ctx.Err() != nil && rp.trouble != "":
		found.TimedOut = true
	case rp.trouble != "":
		found.Fault = rp.trouble
	default:
		rp.read(r.known, &found)
	}
	return found, rp
}

// read reads the body of a reply with status 2xx. The body is an answer or an error, never
// context for the model.
func (rp *reply) read(known *hooks.EventInfo, found *Finding) {
	text := strings.TrimSpace(rp.body.text(answerCap))
	found.Code = 0
	if text == "" {
		return
	}
	found.Answer = Read(known.Event, text, rp.body.dropped > 0)
	if found.Answer.IsObject() {
		return
	}
	found.Code, found.Answer = -1, Answer{}
	rp.trouble = "HTTP hook must return JSON, but got non-JSON response body: " + texts.Clip(text, bodyPreview)
	found.Fault = rp.trouble
}
