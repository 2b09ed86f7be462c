package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/requests"
)

// questionPage is one question in full.
type questionPage struct {
	pages.AnswerForm
	More  string // all of what it is about, if its text is not, and it is no plan and no form
	Fault string // why it was not answered
}

// question reads a question.
func (p *Page) question(ctx context.Context, id string) (questionPage, error) {
	list, err := cli.ReadInbox(ctx, p.place, api.InboxQuery{ID: id})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("team %s has never run", p.place.Team)
	}
	if err != nil {
		return questionPage{}, refuse(http.StatusNotFound, "request %s: %v", id, err)
	}
	one := questionPage{AnswerForm: pages.NewAnswerForm(p.guard.formToken(), list[0])}
	if k := list[0].Kind; k != requests.AskPlan && k != requests.AskForm {
		one.More = inbox.RequestText(list[0])
	}
	return one, nil
}

// showRequest answers with one question in full.
func (p *Page) showRequest(w http.ResponseWriter, r *http.Request) {
	one, err := p.question(r.Context(), r.PathValue("id"))
	if err != nil {
		fail(w, r, err)
		return
	}
	p.showQuestion(w, r, http.StatusOK, one)
}

// showQuestion answers with the page of a question.
func (p *Page) showQuestion(w http.ResponseWriter, r *http.Request, status int, one questionPage) {
	body, err := p.board.execute("requestpage", one)
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	p.show(w, r, shell{Title: one.Request.ID, Body: body})
}

// fill answers a form of a tool's server. If something is wrong with a value, the answer is the form as it
// was filled in, with what is wrong beside each field.
func (p *Page) fill(w http.ResponseWriter, r *http.Request) {
	if err := p.guard.isForm(r); err != nil {
		fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), cli.AnswerWithin)
	defer cancel()
	one, err := p.question(ctx, r.PostForm.Get("request"))
	if err != nil {
		fail(w, r, err)
		return
	}
	answer := api.InboxAnswer{ID: one.Request.ID, Approve: r.PostForm.Get("approve") == "yes"}
	if answer.Approve {
		text, ok := one.Fill(func(i int) string { return r.PostForm.Get(fmt.Sprintf("f%d", i)) })
		if !ok {
			p.showQuestion(w, r, http.StatusUnprocessableEntity, one)
			return
		}
		answer.Feedback = text
	}
	answered, _, err := cli.AnswerInbox(ctx, p.place, answer)
	if err != nil {
		one.Fault = err.Error()
		p.showQuestion(w, r, http.StatusConflict, one)
		return
	}
	said := "answered: form of " + answered.Member + " is " + string(answered.State)
	http.Redirect(w, r, p.guard.root+"/?said="+url.QueryEscape(said), http.StatusSeeOther)
}
