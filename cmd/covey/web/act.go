package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
)

// action carries out a form. It returns what it did, for people, and the page to go to, which may name a
// part of the page after a "#". No field of
// a form has the name of a property that forms have in scripts, such as "id" or "form": it would hide
// the property from htmx, which could then neither send the form nor keep it while somebody types.
type action func(ctx context.Context, form url.Values) (said, next string, err error)

// The headers for page.js after an action: the text that it shows, and the page that it goes to, if that is another one.
const (
	saidHeader = "Covey-Said"
	nextHeader = "Covey-Next"
)

// act makes a handler of forms. With htmx the answer is a text that the page shows; without, it
// is a redirect to the page that the form was on.
func (p *Page) act(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := p.guard.isForm(r); err != nil {
			w.Header().Set(saidHeader, url.PathEscape(err.Error()))
			fail(w, r, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), cli.AnswerWithin)
		defer cancel()
		said, next, err := do(ctx, r.PostForm)
		path, part, _ := strings.Cut(next, "#")
		if part != "" {
			part = "#" + part
		}
		next = p.guard.root + path + "?said=" + url.QueryEscape(said) + part
		if r.Header.Get("HX-Request") != "" {
			status := http.StatusNoContent
			if err != nil {
				said, status = err.Error(), http.StatusConflict
			} else if strings.HasPrefix(path, "/task/") && path != "/task/"+url.PathEscape(r.PostForm.Get("task")) {
				w.Header().Set(nextHeader, next)
			}
			w.Header().Set(saidHeader, url.PathEscape(said))
			w.WriteHeader(status)
			return
		}
		if err != nil {
			fail(w, r, refuse(http.StatusConflict, "%v", err))
			return
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// answer answers a request. A team that does not run takes the answer up with its next run.
func (p *Page) answer(ctx context.Context, form url.Values) (said, next string, err error) {
	a := api.InboxAnswer{ID: form.Get("request"), Approve: form.Get("approve") == "yes", Feedback: strings.TrimSpace(form.Get("feedback"))}
	if !a.Approve && a.Feedback == "" {
		if one, err := p.question(ctx, a.ID); err == nil && one.Task() != "" {
			return "", "/request/" + a.ID, errNoReason
		}
	}
	r, _, err := cli.AnswerInbox(ctx, p.place, a)
	next = "/"
	if task := form.Get("task"); task != "" {
		next = "/task/" + url.PathEscape(task)
	}
	return "answered: " + string(r.Kind) + " of " + r.Member + " is " + string(r.State), next, err
}

// send sends a message to a member.
func (p *Page) send(ctx context.Context, form url.Values) (said, next string, err error) {
	to := form.Get("to")
	mail := api.Send{To: to, Text: strings.ToValidUTF8(form.Get("text"), "\ufffd")}
	reply, err := cli.Ask(ctx, p.place, cli.With((*api.Client).Send, mail), nil)
	return string(reply.Delivery) + " to " + to, "/member/" + url.PathEscape(to), err
}

// hold holds a member, or lets it go on.
func (p *Page) hold(ctx context.Context, form url.Values) (said, next string, err error) {
	r := api.HoldRequest{Member: form.Get("member"), Resume: form.Get("resume") != ""}
	reply, err := cli.Ask(ctx, p.place, cli.With((*api.Client).Hold, r), nil)
	said = r.Member + " goes on"
	if reply.Held {
		said = r.Member + " is held"
	}
	return said, "/member/" + url.PathEscape(r.Member), err
}
