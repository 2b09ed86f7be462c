package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// textOf returns the text of an answer.
func textOf(r *http.Response) string {
	text, _ := io.ReadAll(r.Body) // what is missing fails the test
	return string(text)
}

// asks stores questions of ana to the operator, and returns their ids.
func (f *framed) asks(texts ...string) (ids []string) {
	f.Helper()
	f.store(func(store *tasks.Store) error {
		for _, text := range texts {
			r, err := store.Requests().Ask(f.Context(), actors.Actor{Name: "ana"}, requests.New{
				Kind: requests.AskPlan, Member: "ana", To: actors.Operator, Text: text,
			})
			if err != nil {
				return err
			}
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids
}

// store opens the store of the team, which does not run.
func (f *framed) store(do func(*tasks.Store) error) {
	f.Helper()
	store, err := tasks.Open(f.place.Store(), &tasks.Options{
		BlobDir: f.place.Blobs(), Backups: state.StoreBackups, Identity: f.place.Identity(),
	})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(do(store), store.Close()); err != nil {
		f.Fatal(err)
	}
}

// What only a running team can do says so, to htmx in a header and to others as a page; nothing
// is redirected as if it were done.
func TestActOnStoppedTeam(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(teamtest.Line(0, "", "merge", `{"id":"1","member":"ana","tasks":["1"],"commit":"c","state":"waiting"}`))
	f.follow()
	f.untilLine()
	stopped := "not running; `covey up` starts it"
	for path, want := range map[string]string{
		"/send": stopped, "/hold": stopped, "/merge": "team crew has never run", "/answer": "team crew has never run",
	} {
		form := url.Values{
			"token": {f.page.guard.formToken()}, "to": {"ana"}, "text": {"hi\xff"}, "member": {"ana"}, "task": {"1"}, "request": {"r1"}, "approve": {"yes"},
			"one": {"1@c"},
		}
		plain := f.ask("POST", path, form)
		if text := textOf(plain); plain.StatusCode != http.StatusConflict || !strings.Contains(text, want) || plain.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", path, plain.StatusCode, text)
		}
		htmx := f.ask("POST", path, form, "HX-Request", "true")
		said, err := url.PathUnescape(htmx.Header.Get(saidHeader))
		if htmx.StatusCode != http.StatusConflict || err != nil || !strings.Contains(said, want) || textOf(htmx) != "" {
			t.Errorf("%s with htmx: %d %q %v", path, htmx.StatusCode, said, err)
		}
		form.Set("token", "forged")
		forged := f.ask("POST", path, form, "HX-Request", "true")
		if said, _ := url.PathUnescape(forged.Header.Get(saidHeader)); forged.StatusCode != http.StatusForbidden || !strings.HasSuffix(said, "load the page anew") {
			t.Errorf("%s with a forged form: %d %q", path, forged.StatusCode, said)
		}
		if got := f.ask("GET", path, nil).StatusCode; got != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", path, got)
		}
	}
}

// To merge work without asking its gates a person types a word; nothing else does that.
func TestForcedMergeNeedsAWord(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(teamtest.Line(0, "", "merge", `{"id":"1","member":"ana","tasks":["1"],"commit":"c","state":"returned","fix":"2"}`))
	f.follow()
	f.untilLine()
	for word, want := range map[string]string{"": "that was not the word merge", "yes": "that was not the word merge", "merge": "team crew has never run"} {
		form := url.Values{"token": {f.page.guard.formToken()}, "task": {"1"}, "one": {"1@c"}, "force": {word}}
		if text := textOf(f.ask("POST", "/merge", form)); !strings.Contains(text, want) {
			t.Errorf("%q: %s", word, text)
		}
	}
}

// A team that does not run takes an answer with its next run: it is stored at once, and a
// question is answered once.
func TestAnswerOfStoppedTeam(t *testing.T) {
	f := newFramed(t, "ana")
	ids := f.asks("May I?"+hostile[:60], "And this?")
	if page := f.get("/request/" + ids[0]); !strings.Contains(page, "May I?") || !strings.Contains(page, `name="approve" value="yes"`) ||
		strings.Contains(page, "<script>alert") {
		t.Errorf("an open question: %s", page)
	}
	form := url.Values{"token": {f.page.guard.formToken()}, "request": {ids[0]}, "approve": {"yes"}, "feedback": {" go on \n"}, "task": {"a/b?c"}}
	done := f.ask("POST", "/answer", form)
	to := done.Header.Get("Location")
	if done.StatusCode != http.StatusSeeOther || to != f.page.guard.root+"/task/a%2Fb%3Fc?said=answered%3A+plan+of+ana+is+approved" {
		t.Errorf("%d to %q", done.StatusCode, to)
	}
	if page := f.get("/request/" + ids[0] + to[strings.Index(to, "?"):]); !strings.Contains(page, ": go on</p>") ||
		!strings.Contains(page, `role="status">answered: plan of ana is approved<`) || strings.Contains(page, `name="approve"`) {
		t.Errorf("an answered question: %s", page)
	}
	if again := f.ask("POST", "/answer", form); again.StatusCode != http.StatusConflict || !strings.Contains(textOf(again), ids[0]) {
		t.Errorf("answered twice: %d", again.StatusCode)
	}
	form = url.Values{"token": {f.page.guard.formToken()}, "request": {ids[1]}, "approve": {"no"}}
	htmx := f.ask("POST", "/answer", form, "HX-Request", "true")
	if said, _ := url.PathUnescape(htmx.Header.Get(saidHeader)); htmx.StatusCode != http.StatusNoContent || said != "answered: plan of ana is denied" {
		t.Errorf("%d %q", htmx.StatusCode, said)
	}
}

// Work with marks is merged on its own page, or with a typed word if it has none; a comment that was not sent is not lost without a question.
func TestMergeNeedsALook(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(
		teamtest.Line(0, "ana", "task", `{"op":"completed","task":{"id":"1","subject":"Do 1","status":"completed","owner":"ana"}}`),
		teamtest.Line(0, "", "merge", `{"id":"1","member":"ana","tasks":["1"],"commit":"c","state":"waiting"}`),
		teamtest.Line(0, "", "merge", `{"id":"2","member":"ana","commit":"d","state":"waiting"}`),
	)
	for _, id := range []string{"1", "2"} {
		f.add(teamtest.Line(0, "ana", "work_hints", `{"merge":"`+id+`","hints":[{"kind":"x","mark":true,"word":"tests removed"}],"size":{"files":1}}`))
	}
	f.follow()
	f.untilLine()
	merge := func(more url.Values) string {
		more.Set("token", f.page.guard.formToken())
		return textOf(f.ask("POST", "/merge", more))
	}
	const elsewhere, word, would, asked = "merge it on its own page", "that was not the word merge", "1 comment would be lost", "team crew has never run"
	for name, tc := range map[string]struct {
		form url.Values
		want string
	}{
		"chosen":          {url.Values{"which": {"chosen"}, "piece": {"1@c"}}, elsewhere},
		"a row":           {url.Values{"one": {"1@c"}}, elsewhere},
		"another page":    {url.Values{"one": {"1@c"}, "task": {"3"}}, elsewhere},
		"its page":        {url.Values{"one": {"1@c"}, "task": {"1"}}, asked},
		"no task, chosen": {url.Values{"which": {"chosen"}, "piece": {"of ana@d"}}, word},
		"no task, a word": {url.Values{"one": {"of ana@d"}, "word": {" merge "}}, asked},
	} {
		if got := merge(tc.form); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := f.page.reviews.add("1", pages.Note{File: "f", Line: 1, Text: "why?"}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ unsent, want string }{{"", would}, {"dropped", asked}} {
		if got := merge(url.Values{"one": {"1@c"}, "task": {"1"}, "unsent": {tc.unsent}}); !strings.Contains(got, tc.want) {
			t.Errorf("with a comment: %s", got)
		}
	}
}

// After a decision the next piece of work that waits comes by itself; the page of the last one stays.
func TestNextPiece(t *testing.T) {
	f := newFramed(t, "ana")
	for id, state := range map[string]string{"1": "waiting", "2": "returned", "3": "held", "4": "waiting"} {
		f.add(teamtest.Line(0, "ana", "task", `{"op":"completed","task":{"id":"`+id+`","subject":"Do","status":"completed","owner":"ana"}}`),
			teamtest.Line(0, "", "merge", `{"id":"`+id+`","member":"ana","tasks":["`+id+`"],"commit":"c","state":"`+state+`"}`))
	}
	f.follow()
	f.untilLine()
	for task, want := range map[string]string{"1": "/task/3", "2": "/task/3", "3": "/task/4", "4": "/task/1", "9": "/task/1"} {
		if got := f.page.nextPiece(task); got != want {
			t.Errorf("after %s comes %s, want %s", task, got, want)
		}
	}
	answered := func(next string) string {
		do := func(context.Context, url.Values) (string, string, error) { return "done", next, nil }
		form := url.Values{"token": {f.page.guard.formToken()}, "task": {"1"}}
		r := httptest.NewRequest(http.MethodPost, "/merge", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("HX-Request", "true")
		if err := r.ParseForm(); err != nil { // the guard does it else
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		f.page.act(do)(w, r)
		return w.Header().Get(nextHeader)
	}
	for next, want := range map[string]string{"/task/1": "", "/#review": "", "/task/3": f.page.guard.root + "/task/3?said=done"} {
		if got := answered(next); got != want {
			t.Errorf("%s: the page goes to %q, want %q", next, got, want)
		}
	}
}

// A file that was looked at is viewed in later work, too, wherever in it the same changes are.
func TestViewedByContent(t *testing.T) {
	file := func(text string) hints.FileDiff {
		return hints.ParseDiff("diff --git a/f b/f\n--- a/f\n+++ b/f\n" + text)[0]
	}
	one, moved, other := sumOf(file("@@ -1 +1 @@\n-a\n+b\n")), sumOf(file("@@ -8 +9 @@\n-a\n+b\n")), sumOf(file("@@ -1 +1 @@\n-a\n+c\n"))
	if one != moved || one == other {
		t.Errorf("%s, %s and %s", one, moved, other)
	}
	var book reviewBook
	next := book.next()
	book.see(one, true)
	<-next
	if seen, looks := book.seen(); !seen[one] || seen[other] || looks != 1 {
		t.Errorf("%v after %d looks", seen, looks)
	}
}
