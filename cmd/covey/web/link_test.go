package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// linked is the page of a team that does not run and has asked a question.
type linked struct {
	*testing.T
	page   *Page
	server *httptest.Server
	token  string
}

func newLinked(t *testing.T, change ...func(*guard)) *linked {
	t.Helper()
	return linkedTo(t, requests.New{Kind: requests.AskPlan, Member: "dev", To: actors.Operator, Text: "a plan: <b>do it</b>"}, change...)
}

// linkedTo is newLinked with another question.
func linkedTo(t *testing.T, question requests.New, change ...func(*guard)) *linked {
	t.Helper()
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	l := &linked{T: t}
	spec := filepath.Join(place.Workspace, "team.yaml")
	text := "covey: 1\nname: crew\ngoal: Go.\nmodels: {m: {provider: script, script: m.yaml}}\nlead: {model: m}\n" +
		"web: {public_url: \"https://covey.example.com\"}\n"
	for path, text := range map[string]string{spec: text, filepath.Join(place.Workspace, "m.yaml"): "steps: [{say: Well.}]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	teamtest.WriteRun(t, place, func(r *state.RunFile) { r.Spec, r.Result = spec, &state.RunResult{Reason: "told to stop"} })
	store, err := tasks.Open(place.Store(), &tasks.Options{BlobDir: place.Blobs(), Backups: state.StoreBackups, Identity: place.Identity()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Requests().Ask(t.Context(), actors.Actor{Name: "dev"}, question)
	if err == nil {
		l.token, err = notices.NewLinks(store, members.Clock{}).Make(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if l.page, err = Listen(&cli.Env{}, place, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range change { // before the server reads the guard
		f(l.page.guard)
	}
	l.server = httptest.NewUnstartedServer(l.page.guard.wrap(l.page.routes()))
	_ = l.server.Listener.Close()
	l.server.Listener = l.page.listener
	l.server.Config.ConnContext = l.page.guard.connect
	l.server.Start()
	t.Cleanup(l.server.Close)
	return l
}

// ask makes a request without a cookie, and returns the status and the page.
func (l *linked) ask(method, path string, form url.Values, change func(*http.Request)) (int, string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), method, l.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(r)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		l.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// want makes a request and compares its result.
func (l *linked) want(status int, text, method, path string, form url.Values) {
	l.Helper()
	if got, page := l.ask(method, path, form, nil); got != status || !strings.Contains(page, text) {
		l.Errorf("%s %s: %d, want %d with %q:\n%s", method, path, got, status, text, page)
	}
}

// TestLinkAnswersOnce: opening a link changes nothing, however often; its button answers, and
// the second time says so. Nothing else of the page opens with it.
func TestLinkAnswersOnce(t *testing.T) {
	l := newLinked(t)
	path := "/a/" + l.token
	for range 2 {
		l.want(200, `value="approve" class="yes">Approve`, "GET", path, nil)
		l.want(200, `value="deny" class="yes">Deny`, "GET", path+"?say=deny", nil)
	}
	l.want(200, "a plan: &lt;b&gt;do it&lt;/b&gt;", "GET", path, nil)
	l.want(400, "the form has no answer", "POST", path+"?say=approve", nil)
	l.want(200, "Answered: denied", "POST", path, url.Values{"say": {"deny"}, "feedback": {"not like this"}})
	l.want(410, "Request r1 was denied by a person", "POST", path, url.Values{"say": {"approve"}})
	l.want(410, "not like this", "GET", path, nil)
	l.want(404, "this link is not known", "POST", "/a/"+strings.ToLower(l.token), url.Values{"say": {"approve"}})
	l.want(401, "the token that covey has printed", "GET", "/", nil)
	l.want(401, "the token that covey has printed", "POST", "/answer", url.Values{"request": {"r1"}, "approve": {"yes"}})
	l.want(200, "--ink", "GET", "/static/style.css", nil)
}

// A link does not send work back without a reason, and can then be used with one.
func TestLinkNeedsAReason(t *testing.T) {
	l := linkedTo(t, requests.New{Kind: requests.AskApproval, Member: "dev", To: actors.Operator, Text: "done", Payload: json.RawMessage(`{"task_id":"1"}`)})
	path := "/a/" + l.token
	l.want(422, "say what is to be changed", "POST", path, url.Values{"say": {"deny"}})
	l.want(200, "Answered: denied", "POST", path, url.Values{"say": {"deny"}, "feedback": {"not like this"}})
}

// The page of a link shows what is to be looked at first in the work that it is about, and to approve is not its easy button then.
func TestLinkShowsMarks(t *testing.T) {
	l := linkedTo(t, requests.New{Kind: requests.AskMerge, Member: "dev", To: actors.Operator, Text: "may it be merged?", Payload: json.RawMessage(`{"task_id":"1"}`)})
	l.page.feed.Change(func(s *view.State) {
		for i, line := range []events.Line{
			teamtest.Line(1, "", "team_started", `{"goal":"Go","members":["dev"]}`),
			teamtest.Line(2, "", "task", `{"op":"completed","task":{"id":"1","subject":"Do it","status":"completed","owner":"dev"}}`),
			teamtest.Line(3, "dev", "merge", `{"id":"1","member":"dev","branch":"b","commit":"c","tasks":["1"],"title":"Do it","into":"main","state":"held","asked":"r1"}`),
			teamtest.Line(4, "dev", "work_hints", `{"merge":"1","commit":"c","hints":[{"kind":"secret","mark":true,"word":"secret","text":"A key.","places":[{"file":"a.py","line":3}]}],"size":{"files":1}}`),
		} {
			line.Seq = uint64(i + 1)
			s.Apply(line.Event())
		}
	})
	l.want(200, "⚠ secret: A key. (a.py:3)", "GET", "/a/"+l.token, nil)
	l.want(200, `value="approve">Approve`, "GET", "/a/"+l.token, nil)
}

// TestLinkIsGuarded: neither a member, nor a page of somebody else, nor another name of the page
// uses a link. The name that the spec has is one of the page's own, also if the team has ended and a
// new page was opened since.
func TestLinkIsGuarded(t *testing.T) {
	l := newLinked(t)
	path, form := "/a/"+l.token, url.Values{"say": {"approve"}}
	from := func(key, value string) func(*http.Request) {
		return func(r *http.Request) {
			if key == "Host" {
				r.Host = value
			}
			r.Header.Set(key, value)
		}
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"another name":    {from("Host", "evil.example.com"), 421},
		"another page":    {from("Sec-Fetch-Site", "cross-site"), 403},
		"the public name": {from("Host", "covey.example.com"), 200},
	} {
		if got, page := l.ask("POST", path, form, c.change); got != c.want {
			t.Errorf("%s: %d, want %d:\n%s", name, got, c.want, page)
		}
	}
	l = newLinked(t, func(g *guard) {
		g.outside = func(_, _ netip.AddrPort) error { return process.ErrInside }
	})
	for _, method := range []string{"GET", "POST"} {
		if got, _ := l.ask(method, "/a/"+l.token, form, nil); got != 403 {
			t.Errorf("a member's %s: %d", method, got)
		}
	}
}
