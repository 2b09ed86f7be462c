package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// errNoReason is why work is not sent back without a word.
var errNoReason = errors.New("say what is to be changed")

// pieces returns the review queue.
func (p *Page) pieces() (list []pages.Piece) {
	p.feed.Read(func(now termview.Now) { list = pages.Queue(now.State, now.State.Works()) })
	return list
}

// merge merges pieces of work, and approves those that wait for that: all without marks, those that
// were chosen, or one. Each is named as it was shown, and left as it is if it has changed since, because
// nobody has seen it then. It does not wait: the page shows what becomes of them.
func (p *Page) merge(ctx context.Context, form url.Values) (said, next string, err error) {
	versions, clean := form["piece"], form.Get("which") == "clean"
	switch one := form.Get("one"); {
	case one != "":
		versions, clean = []string{one}, false
	case clean:
		versions = form["clean"]
	}
	done := map[string][]string{} // by what was done
	var faults []error
	queue := p.pieces()
	for _, version := range versions {
		key, _, _ := strings.Cut(version, "@")
		if what, err := p.accept(ctx, queue, version, clean, form); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", named(key), err))
		} else {
			done[what] = append(done[what], named(key))
		}
	}
	next = "/#review"
	if id := form.Get("task"); id != "" {
		next = p.nextPiece(id)
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(done)) {
		parts = append(parts, what+": "+strings.Join(done[what], ", "))
	}
	said = strings.Join(parts, "; ")
	switch {
	case len(versions) == 0:
		return "", next, errors.New("no piece of work is chosen")
	case len(faults) > 0 && len(done) > 0: // what was done must be told, too
		faults = append([]error{errors.New(said)}, faults...)
	}
	return said, next, errors.Join(faults...)
}

// typedWord is the word that a person types to merge work with marks from a list, or any without asking its gates.
const typedWord = "merge"

// accept merges a piece of a queue, or approves it, and returns which it did. With clean it must have no marks. The form may say that the
// gates of one piece are not asked.
func (p *Page) accept(ctx context.Context, queue []pages.Piece, version string, clean bool, form url.Values) (did string, err error) {
	i := slices.IndexFunc(queue, func(one pages.Piece) bool { return term.PlainLine(one.Version()) == version })
	switch {
	case i < 0 || !queue[i].Decide && queue[i].Merge != tasks.MergeReturned:
		return "", errors.New("it has changed since the page was shown; look again")
	case clean && !queue[i].Clean():
		return "", errors.New("it has marks by now; look at it")
	}
	if err := p.mayAccept(queue[i], form); err != nil {
		return "", err
	}
	if queue[i].Ask != "" {
		did, err = "approved", p.approve(ctx, queue[i].Ask)
	} else {
		did, err = "queued to be merged", p.mergeOne(ctx, queue[i], form.Has("force"))
	}
	if id := queue[i].Task; err == nil && len(p.reviews.of(id).notes) > 0 {
		p.reviews.change(id, func(r *review) { r.notes = nil })
	}
	return did, err
}

// mayAccept returns why a piece is not to be merged by this form: a list shows too little of one with marks, a comment that is not sent
// would be lost, and work whose gates are not asked needs a word.
func (p *Page) mayAccept(one pages.Piece, form url.Values) error {
	own := one.Task != "" && form.Get("task") == one.Task
	unsent := len(p.reviews.of(one.Task).notes)
	switch {
	case form.Has("force") && strings.TrimSpace(form.Get("force")) != typedWord:
		return errors.New("nothing was merged: that was not the word " + typedWord)
	case len(one.Marks()) > 0 && !own && one.Task != "":
		return errors.New("it has marks (" + strings.Join(one.Marks(), ", ") + "): merge it on its own page")
	case len(one.Marks()) > 0 && !own && strings.TrimSpace(form.Get("word")) != typedWord:
		return errors.New("nothing was merged: it has marks, and that was not the word " + typedWord)
	case unsent > 0 && form.Get("unsent") == "":
		return fmt.Errorf("nothing was merged: %s would be lost; send it back, or merge it on its page without that",
			texts.Plural(unsent, "comment"))
	}
	return nil
}

// approve approves the question about a piece of work.
func (p *Page) approve(ctx context.Context, id string) error {
	_, _, err := cli.AnswerInbox(ctx, p.place, api.InboxAnswer{ID: id, Approve: true})
	return err
}

// mergeOne merges a piece of work.
func (p *Page) mergeOne(ctx context.Context, one pages.Piece, force bool) error {
	r := api.MergeRequest{Task: one.Task, Force: force}
	if r.Task == "" {
		r.Member = one.Member
	}
	_, err := cli.Ask(ctx, p.place, cli.With((*api.Client).Merge, r), func() (api.MergeReply, error) {
		return api.MergeReply{}, p.mergeStopped(ctx, r)
	})
	return err
}

// mergeStopped merges work of a team that does not run, one piece after another. It returns when that is over, or
// else when ctx ends; then the page shows what becomes of it.
func (p *Page) mergeStopped(ctx context.Context, r api.MergeRequest) error {
	merged := make(chan error)
	served, end := context.WithCancel(context.WithoutCancel(ctx)) // not only for this form
	p.busy.Go(func() {
		defer end()
		p.merging.Lock()
		defer p.merging.Unlock()
		unasked := *p.env // a question on the terminal of the page would reach nobody
		unasked.In = strings.NewReader("")
		_, err := unasked.Merge(served, p.place, r, false)
		select {
		case merged <- err:
		case <-ctx.Done(): // nobody waits for it
			if err != nil {
				p.env.Err.Printf("covey: %s\n", term.PlainLine(err.Error()))
			}
		}
	})
	go func() {
		select {
		case <-p.over:
			end()
		case <-served.Done():
		}
	}()
	select {
	case err := <-merged:
		return err
	case <-ctx.Done():
		return nil
	}
}

// named names a piece of work for people.
func named(key string) string {
	if _, err := strconv.Atoi(key); err != nil {
		return "the work " + key
	}
	return "task " + key
}

// nextPiece returns the page of the piece of work that waits for a person after that of a task; the page of that task if none does.
func (p *Page) nextPiece(task string) string {
	if _, after := p.beside(task); after != nil {
		task = after.Task
	}
	return "/task/" + url.PathEscape(task)
}

// sendBack sends the work on a task back to its author, with the comments on its lines. A team that does
// not run goes on with it in its next run.
func (p *Page) sendBack(ctx context.Context, form url.Values) (said, next string, err error) {
	return p.sendBackWith(ctx, form, typed(form))
}

// sendBackWith is sendBack with a text, and more comments.
func (p *Page) sendBackWith(ctx context.Context, form url.Values, text string, more ...pages.Note) (said, next string, err error) {
	id := form.Get("task")
	next = p.nextPiece(id)
	if form.Get("from") == "queue" {
		next = "/#review"
	}
	var notes []string
	comments := append(p.reviews.of(id).notes, more...)
	for i := range comments {
		comments[i].Sent = true
		notes = append(notes, comments[i].Place()+": "+comments[i].Text)
	}
	// The first paragraph is what the reason of the send-back says.
	text = strings.TrimSpace(text + "\n\n" + strings.Join(notes, "\n"))
	if text == "" {
		return "", next, errNoReason
	}
	reply, err := p.env.Return(ctx, p.place, api.ReturnRequest{Task: id, Text: text})
	if err == nil {
		p.reviews.change(id, func(r *review) {
			r.sent, r.notes = append(r.sent, comments...), nil
			r.sent = r.sent[max(0, len(r.sent)-keptNotes):]
		})
	}
	return "task " + id + " is sent back: " + reply.String(), next, err
}

// comment keeps a comment on a place in the work on a task until the work is sent back, tells it to the
// author at once, or makes a task of it.
func (p *Page) comment(ctx context.Context, form url.Values) (said, next string, err error) {
	id, to, text := form.Get("task"), form.Get("to"), typed(form)
	next = "/task/" + url.PathEscape(id)
	if form.Get("as") == "removed" {
		p.reviews.change(id, func(r *review) {
			r.notes = slices.DeleteFunc(r.notes, func(n pages.Note) bool { return strconv.Itoa(n.ID) == form.Get("note") })
		})
		return "the comment is removed", next + "#task-acts", nil
	}
	if text == "" {
		return "", next, errors.New("the comment is empty")
	}
	note := pages.Note{File: term.PlainLine(form.Get("file")), Text: text}
	note.Line, _ = strconv.Atoi(form.Get("line")) // without a number it is about the file
	about := fmt.Sprintf("About %s in your work on task %s:\n\n%s", note.Place(), id, text)
	switch form.Get("as") {
	case "return":
		return p.sendBackWith(ctx, form, "", note)
	case "note":
		next += "#file-" + pages.DomID(id) + "-" + pages.DomID(note.File)
		return "the comment on " + note.Place() + " goes back with the work", next, p.reviews.add(id, note)
	case "task":
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

// view notes that a file was looked at, or not.
func (p *Page) view(_ context.Context, form url.Values) (said, next string, err error) {
	id := form.Get("task")
	p.reviews.see(form.Get("sum"), form.Get("viewed") == "yes")
	return "", "/task/" + url.PathEscape(id) + "#task-diff", nil
}

// typed returns the text of a form. Browsers end its lines with CR LF.
func typed(form url.Values) string {
	text := strings.ToValidUTF8(form.Get("text"), "\ufffd")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}
