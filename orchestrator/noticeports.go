package orchestrator

import (
	"context"
	"net/url"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/tasks/requests"
)

// newNotices returns the notices of a team.
func newNotices(o *Orchestrator, r *rooms) *notices.Notices {
	return notices.New(notices.Deps{
		Team: o.team, Store: r.store, Journal: r.journal, Clock: r.clock, Log: r.log, Processes: r.processes,
		Environ: launch.ChildEnvironment(o.opts.Bin, o.place), Terminal: o.opts.Terminal,
		Page: func() string { return withoutToken(o.opts.Page.URL()) },
	})
}

// withoutToken returns the address of a web page without the token that opens it.
func withoutToken(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.String()
}

// link looks at a link that answers a request, or answers with it as a person.
func (q commands) link(ctx context.Context, l api.Link) (api.LinkReply, error) {
	if !l.Answer {
		s, err := q.r.notices.Links.Look(ctx, l.Token)
		return api.LinkReply(s), err
	}
	answer := func(ctx context.Context, id string) (requests.Request, error) {
		return q.answer(ctx, api.InboxAnswer{ID: id, Approve: l.Approve, Feedback: l.Feedback})
	}
	s, err := q.r.notices.Links.Use(ctx, l.Token, answer)
	return api.LinkReply(s), err
}
