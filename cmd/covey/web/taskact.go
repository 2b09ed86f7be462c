package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
)

// sendBack sends the work on a task back to its author. A team that does not run goes on with it
// in its next run.
func (p *Page) sendBack(ctx context.Context, form url.Values) (said, next string, err error) {
	id := form.Get("task")
	reply, err := p.env.Return(ctx, p.place, api.ReturnRequest{Task: id, Text: typed(form)})
	return "task " + id + " is sent back: " + reply.String(), "/task/" + url.PathEscape(id), err
}

// comment tells a member about a place in its work, or makes a task of that.
func (p *Page) comment(ctx context.Context, form url.Values) (said, next string, err error) {
	id, to, text := form.Get("task"), form.Get("to"), typed(form)
	next = "/task/" + url.PathEscape(id)
	if text == "" {
		return "", next, errors.New("the comment is empty")
	}
	place := term.PlainLine(form.Get("file"))
	if line := form.Get("line"); line != "" {
		place += ":" + term.PlainLine(line)
	}
	about := fmt.Sprintf("About %s in your work on task %s:\n\n%s", place, id, text)
	if form.Get("as") == "task" {
		task := api.TaskCreate{Subject: term.Short(text), Description: about, Owner: to}
		reply, err := cli.Ask(ctx, p.place, cli.With((*api.Client).CreateTask, task), nil)
		if err == nil && len(reply.Refused) > 0 {
			err = errors.New(strings.Join(reply.Refused, "; "))
		}
		return "task " + reply.Task.ID + " is created for " + to, next, err
	}
	reply, err := cli.Ask(ctx, p.place, cli.With((*api.Client).Send, api.Send{To: to, Text: about}), nil)
	return string(reply.Delivery) + " to " + to, next, err
}

// typed returns the text of a form. Browsers end its lines with CR LF.
func typed(form url.Values) string {
	text := strings.ToValidUTF8(form.Get("text"), "\ufffd")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
