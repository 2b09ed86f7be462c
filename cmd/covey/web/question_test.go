package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// orderForm is a form with a field of each kind.
const orderForm = `{"schema":{"properties":{"town":{"type":"string","title":"Town"},"count":{"type":"integer","maximum":9},` +
	`"speed":{"type":"string","enum":["slow","fast"]},"gift":{"type":"boolean"}},"required":["town","count"]}}`

// puts stores a question, as the journal has it, too, and returns its id.
func (f *framed) puts(n requests.New) string {
	f.Helper()
	var id string
	f.store(func(s *tasks.Store) error {
		r, err := s.Requests().Ask(f.Context(), actors.Actor{Name: n.Member}, n)
		if data, err := json.Marshal(r); err == nil {
			f.add(teamtest.Line(0, n.Member, "request", string(data)))
		}
		id = r.ID
		return err
	})
	f.untilLine()
	return id
}

// A form has a field for each value, where it is listed and on its own page. What is wrong is said beside
// the field, and what was typed stays.
func TestFormIsFilledIn(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	id := f.puts(requests.New{Kind: requests.AskForm, Member: "ana", To: actors.Operator, Text: "Where to?", Payload: json.RawMessage(orderForm)})
	for _, path := range []string{"/", "/request/" + id} {
		page := f.get(path)
		for _, want := range []string{
			`<span>Town</span>`, `<input name="f0" value=""`, `<select name="f2"`, `<option value="fast">fast</option>`, `<input type="checkbox" name="f3"`,
			"at most 9", `action="` + f.page.guard.root + `/fill"`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %s", path, want)
			}
		}
	}
	form := url.Values{"token": {f.page.guard.formToken()}, "request": {id}, "approve": {"yes"}, "f0": {`Ulm "x`}, "f1": {"many"}, "f2": {"fast"}, "f3": {"true"}}
	wrong := f.ask("POST", "/fill", form)
	text := textOf(wrong)
	for _, want := range []string{`value="Ulm &#34;x"`, `value="many"`, ` selected>fast`, `value="true" checked`, `aria-invalid="true"`, `not of type integer</b>`} {
		if wrong.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
			t.Errorf("%d, and there is no %s in\n%s", wrong.StatusCode, want, text)
		}
	}
	if strings.Count(text, "aria-invalid") != 1 {
		t.Errorf("one field is wrong:\n%s", text)
	}
	form.Set("f1", "3")
	late := f.ask("POST", "/fill", form) // the call that asked has ended with the team
	text = textOf(late)
	if late.StatusCode != http.StatusConflict || !strings.Contains(text, `role="alert"`) || !strings.Contains(text, `value="Ulm &#34;x"`) {
		t.Errorf("%d\n%s", late.StatusCode, text)
	}
}

// A plan for the lead can be read and answered where it is listed.
func TestPlanForTheLead(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	plan, _ := json.Marshal(map[string]string{"plan": "# Steps\n\n1. Read `a.go`\n2. **Change** it\n\n<script>alert(1)</script>"}) // strings can be encoded
	id := f.puts(requests.New{Kind: requests.AskPlan, Member: "ana", To: "lead", Text: "ana has a plan", Payload: plan})
	page := f.get("/")
	for _, want := range []string{`id="ask-` + id + `"`, "<b>Steps</b>", "<code>a.go</code>", "<strong>Change</strong>", `name="approve" value="yes"`, "Nothing needs you"} {
		if !strings.Contains(page, want) || strings.Contains(page, "<script>alert") {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
	f.ask("POST", "/answer", url.Values{"token": {f.page.guard.formToken()}, "request": {id}, "approve": {"yes"}})
	if list, err := cli.ReadInbox(t.Context(), f.place, api.InboxQuery{ID: id}); err != nil || list[0].State != requests.Approved || list[0].By != actors.Operator {
		t.Errorf("%v, %v", list, err)
	}
}

// No page shows a secret, whatever text of a member has it.
func TestPagesMaskSecrets(t *testing.T) {
	const secret = "s3cr3t-v4lue-0f-the-test"
	t.Setenv("COVEY_TEST_API_KEY", secret)
	f := newFramed(t, "ana")
	f.follow()
	text := jsonText("it is " + secret)
	for _, l := range []struct{ kind, data string }{
		{"turn_started", `{"cause":"task","prompt":TEXT}`},
		{"task", `{"op":"claimed","by":"ana","task":{"id":"1","subject":TEXT,"description":TEXT,"status":"in_progress","owner":"ana","epoch":2}}`},
		{"text", `{"text":TEXT}`},
		{"tool_call", `{"id":"c1","name":"Bash","input":{"command":TEXT}}`},
		{"tool_result", `{"id":"c1","name":"Bash","content":TEXT}`},
		{"message", `{"id":"m1","from":"lead","to":"ana","kind":"text","summary":TEXT,"text":TEXT}`},
		{"needs_attention", `{"reason":TEXT}`},
		{"merge", `{"id":"1","member":"ana","tasks":["1"],"title":TEXT,"into":"main","state":"held","reason":TEXT}`},
	} {
		f.add(teamtest.Line(0, "ana", l.kind, strings.ReplaceAll(l.data, "TEXT", text)))
	}
	id := f.puts(requests.New{Kind: requests.AskPermission, Member: "ana", To: actors.Operator, Text: "Bash: " + secret, Payload: json.RawMessage(`{"input":{"command":` + text + `}}`)})
	for _, path := range []string{"/", "/member/ana", "/task/1", "/request/" + id} {
		if page := f.get(path); strings.Contains(page, secret) || !strings.Contains(page, "it is ***") {
			t.Errorf("%s shows\n%s", path, page)
		}
	}
	stream := f.events("/member/ana/events", f.has(1))
	if _, data := stream.next(); strings.Contains(data, secret) || !strings.Contains(data, "it is ***") {
		t.Errorf("the stream shows\n%s", data)
	}
}

// Work is not sent back without a reason: neither by its question, whose page leads to the changes, nor by
// its task.
func TestSendBackNeedsAReason(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.add(teamtest.Line(0, "ana", "task", `{"op":"claimed","task":{"id":"1","subject":"Do it","status":"in_progress","owner":"ana"}}`))
	id := f.puts(requests.New{Kind: requests.AskApproval, Member: "ana", To: actors.Operator, Text: "It is done", Payload: json.RawMessage(`{"task_id":"1"}`)})
	if page := f.get("/request/" + id); !strings.Contains(page, `/task/1">Decide about task 1`) || strings.Contains(page, `name="approve"`) {
		t.Error(page)
	}
	if page := f.get("/"); !strings.Contains(page, `id="piece-1"`) || strings.Contains(page, `id="need-`) {
		t.Error(page)
	}
	token := f.page.guard.formToken()
	for path, form := range map[string]url.Values{
		"/answer": {"request": {id}, "approve": {"no"}, "feedback": {" "}},
		"/return": {"task": {"1"}, "text": {"\r\n"}},
	} {
		form.Set("token", token)
		if got := f.ask("POST", path, form); got.StatusCode != http.StatusConflict || !strings.Contains(textOf(got), "say what is to be changed") {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	list, err := cli.ReadInbox(t.Context(), f.place, api.InboxQuery{ID: id})
	if err != nil || !list[0].Open() {
		t.Errorf("%v, %v", list, err)
	}
	f.ask("POST", "/answer", url.Values{"token": {token}, "request": {id}, "approve": {"no"}, "feedback": {"The test is gone."}})
	if list, err = cli.ReadInbox(t.Context(), f.place, api.InboxQuery{ID: id}); err != nil || list[0].State != requests.Denied {
		t.Errorf("%v, %v", list, err)
	}
}
