package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// isOpen reports whether a request needs no cookie: the token of a link that answers a request
// replaces it, and the files of the page are no secret. Members are refused here too.
func isOpen(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/a/") || strings.HasPrefix(r.URL.Path, "/static/")
}

// linkPage is the page to which a link leads.
type linkPage struct {
	Team    string
	Request requests.Request
	More    string // all of what the request is about, if its text is not
	Say     string // the button that the notice offered: approve or deny
	Refused string // why the link does not answer
	Fault   string // what is missing in the answer
	Done    bool   // it has just answered
	// Hints are what to look at first in the work that the request is about; Marked reports whether some are marks.
	Hints  []hints.Hint
	Marked bool
}

// showLink shows what a link is about. It changes nothing, because programs that look through
// mail open links too.
func (p *Page) showLink(w http.ResponseWriter, r *http.Request) {
	p.link(w, r, api.Link{Token: r.PathValue("token")})
}

// useLink answers with a link.
func (p *Page) useLink(w http.ResponseWriter, r *http.Request) {
	say := r.PostForm.Get("say")
	if say != "approve" && say != "deny" {
		fail(w, r, refuse(http.StatusBadRequest, "the form has no answer; load the page anew"))
		return
	}
	p.link(w, r, api.Link{
		Token: r.PathValue("token"), Answer: true, Approve: say == "approve",
		Feedback: strings.TrimSpace(r.PostForm.Get("feedback")),
	})
}

// link looks at a link, or answers with it, and shows the result.
func (p *Page) link(w http.ResponseWriter, r *http.Request, l api.Link) {
	ctx, cancel := context.WithTimeout(r.Context(), cli.AnswerWithin)
	defer cancel()
	page := linkPage{Team: p.place.Team, Say: r.URL.Query().Get("say")}
	if l.Answer && !l.Approve && l.Feedback == "" {
		look := l
		look.Answer = false
		if seen, err := p.askLink(ctx, look); err == nil && (pages.AnswerForm{Request: seen.Request}).Task() != "" {
			l, page.Fault = look, errNoReason.Error()
		}
	}
	reply, err := p.askLink(ctx, l)
	switch {
	case errors.Is(err, tasks.ErrNotFound):
		fail(w, r, refuse(http.StatusNotFound,
			"this link is not known, or so old that it was forgotten; nothing was changed"))
		return
	case err != nil:
		fail(w, r, refuse(http.StatusConflict, "%v", err))
		return
	}
	status := http.StatusOK
	switch {
	case reply.Refused != "":
		status = http.StatusGone
	case page.Fault != "":
		status = http.StatusUnprocessableEntity
	}
	page.Request, page.More, page.Refused, page.Done = reply.Request, inbox.RequestText(reply.Request), reply.Refused, l.Answer && reply.Refused == ""
	if work := p.task(pages.AnswerForm{Request: reply.Request}.Task()); work != nil {
		page.Hints, page.Marked = work.Hints, len(hints.Words(work.Hints)) > 0
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = p.tmpl.ExecuteTemplate(w, "answerlink", page) // the connection may be lost
}

// askLink looks at a link, or answers with it.
func (p *Page) askLink(ctx context.Context, l api.Link) (api.LinkReply, error) {
	return cli.Ask(ctx, p.place, cli.With((*api.Client).Link, l), func() (api.LinkReply, error) {
		var ruling *requests.Ruling
		if l.Answer {
			ruling = &requests.Ruling{Approve: l.Approve, Feedback: l.Feedback}
		}
		s, err := notices.UseStopped(ctx, p.place, l.Token, ruling)
		return api.LinkReply(s), err
	})
}
