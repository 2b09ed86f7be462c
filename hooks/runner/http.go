package runner

import (
	"bytes"
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
	"github.com/coveyteam/covey/hooks/wording"
)

// bodyPreview is how many characters people see of a body that is no answer.
const bodyPreview = 200

// reply is what came back from an http hook.
type reply struct {
	status  int // 0: nothing came
	body    answerCapture
	trouble string // why there is no answer; empty: there is one, or there need be none
}

// describe puts the reply into a Result, as recorded hosts do.
func (rp *reply) describe(v *judging.Verdict, limit int) {
	v.ExitCode = -1
	if rp.status != 0 {
		v.ExitCode = rp.status
	}
	v.Stdout, v.Stderr = rp.body.text(limit), rp.trouble
	if note := rp.body.cutNote("the response", limit); note != "" {
		v.Warn("%s", note)
	}
}

// runHTTP posts the event to an http handler and reads what it answers (HOOKS.md
// section 3). No status refuses anything: only an answer can.
func (r *run) runHTTP(ctx context.Context, h *armed) (judging.Finding, *reply) {
	found := judging.Finding{Code: -1}
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

// read reads the body of a reply with status 2xx. Its text is an answer or an
// error, and never context for the model.
func (rp *reply) read(known *hooks.EventInfo, found *judging.Finding) {
	text := strings.TrimSpace(rp.body.text(answerCap))
	found.Code = 0
	if text == "" {
		return
	}
	found.Answer = judging.Read(known.Event, text, rp.body.dropped > 0)
	if found.Answer.IsObject() {
		return
	}
	found.Code, found.Answer = -1, judging.Answer{}
	rp.trouble = "HTTP hook must return JSON, but got non-JSON response body: " + wording.Clip(text, bodyPreview)
	found.Fault = rp.trouble
}
