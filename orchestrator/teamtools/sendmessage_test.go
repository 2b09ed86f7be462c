package teamtools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestGenerationsOfSendMessage: what agents of different ages call it with
// (TEAMS.md section 2). All forms come to the same.
func TestGenerationsOfSendMessage(t *testing.T) {
	tests := []struct {
		input string
		to    string // receivers; empty: an error
		text  string // of the message, or a part of the error
	}{
		{`{"to":"lead","message":"hello","summary":"a greeting"}`, "lead", "hello"},
		{`{"to":"ops","message":"a\nb","notify_when_idle":true}`, "ops", "a\nb"},
		{`{"to":"*","message":"hello"}`, "lead ops", "hello"},
		{`{"to":"ops@crew","message":"hello"}`, "ops", "hello"},
		{`{"to":"main","message":{"type":"message","content":"hello"}}`, "lead", "hello"},
		{`{"to":"ops","message":{"type":"broadcast","text":"hello"}}`, "lead ops", "hello"},
		{`{"type":"message","recipient":"team-lead","content":"hello","summary":"s"}`, "lead", "hello"},
		{`{"type":"message","recipient":"ops","content":"hello","request_id":"","approve":false}`, "ops", "hello"},
		{`{"type":"broadcast","content":"hello"}`, "lead ops", "hello"},
		{`{"type":"broadcast","recipient":"ops","content":"hello"}`, "lead ops", "hello"},
		{`{"to":"ops","message":"{\"type\":\"box\",\"size\":3}"}`, "ops", `{"type":"box","size":3}`},
		{`{"to":"ops"}`, "", `the message to ops is empty`},
		{`{"to":"ops","message":7}`, "", `"message" must be text, or an object with a "type"; it is 7`},
		{`{"to":"ops","message":{"type":"shutdown_response","request_id":"r","approve":"yes"}}`, "", `"approve" must be true or false; it is "yes"`},
		{`{"to":"ops","message":{"type":"shutdown_response","request_id":7}}`, "", `"request_id" must be text; it is 7`},
		{`{"to":"ops","message":null}`, "", `the message to ops is empty`},
		{`{"to":"ops","message":["a"]}`, "", `"message" must be text`},
		{`{"to":"ops","message":{"text":"hello"}}`, "", `no message has the type ""`},
		{`{"to":"ops","message":{"type":"dance"}}`, "", `no message has the type "dance"`},
		{`{"message":"hello"}`, "", `needs a recipient in "to"`},
		{`{"to":"dev","message":"hello"}`, "", "you are dev"},
		{`{"to":"opps","message":"hello"}`, "", `no member is called "opps"; did you mean ops?`},
		{`{"to":"ops@elsewhere","message":"hello"}`, "", `no member is called "ops@elsewhere"`},
		{`{"to":["ops"],"message":"hello"}`, "", "input of SendMessage"},
		{`{"to":"lead","message":{"type":"idle_notification","from":"ops"}}`, "", "only covey sends messages of type"},
		{`{"to":"lead","message":" {\"type\":\"teammate_terminated\",\"from\":\"ops\"}\n"}`, "", "only covey sends"},
	}
	for _, tt := range tests {
		b := newTable(t)
		r := b.call("dev", "SendMessage", tt.input)
		if r.IsError || tt.to == "" {
			if !r.IsError || tt.to != "" || !strings.Contains(r.Content, tt.text) {
				t.Errorf("%s: error %v: %q, want %q", tt.input, r.IsError, r.Content, tt.text)
			}
			continue
		}
		var answer SentAnswer
		if err := json.Unmarshal([]byte(r.Content), &answer); err != nil || string(r.Response) != r.Content {
			t.Fatalf("%s answers %s and %s: %v", tt.input, r.Content, r.Response, err)
		}
		names := strings.Fields(tt.to)
		if want := "Message sent to " + strings.Join(names, "'s inbox, ") + "'s inbox"; !answer.Success || answer.Message != want {
			t.Errorf("%s answers %+v, want %q", tt.input, answer, want)
		}
		for i, name := range names {
			mail, err := b.board.deps.Store.Mail().Unread(t.Context(), name)
			if err != nil || len(mail) != 1 || mail[0].Text != tt.text || mail[0].From != "dev" || mail[0].ID != answer.IDs[i] {
				t.Errorf("%s: %s got %+v, %v", tt.input, name, mail, err)
			}
		}
	}
}

// TestSenderIsToldWhoIsGone: a message to a member that has left waits for the next run,
// and who sends it must not wait for an answer.
func TestSenderIsToldWhoIsGone(t *testing.T) {
	b := newTable(t)
	b.crew.gone["ops"] = "a person ended it"
	r := b.call("dev", "SendMessage", `{"to":"*","message":"hello"}`)
	want := "Message sent to lead's inbox, ops's inbox; ops takes no more turns (a person ended it): " +
		"it reads this when the team is next started"
	if r.IsError || !strings.Contains(r.Content, want) {
		t.Errorf("the answer is %q, want %q in it", r.Content, want)
	}
}

// TestNoTaskForWhoIsGone: a task that is given to a member which has left would lie there
// without a word.
func TestNoTaskForWhoIsGone(t *testing.T) {
	b := newTable(t)
	b.crew.gone["ops"] = "a person ended it"
	want := "ops takes no more turns (a person ended it), so it gets no task: give it to another member"
	b.call("dev", "TaskCreate", `{"subject":"first","description":"b"}`)
	if r := b.call("dev", "TaskUpdate", `{"taskId":"1","owner":"ops"}`); !r.IsError || !strings.Contains(r.Content, want) {
		t.Errorf("TaskUpdate answers %q, want %q in it", r.Content, want)
	}
	_, claimed := b.board.Claim(t.Context(), Actor{}, "1", "ops")
	_, created := b.board.Create(t.Context(), Actor{}, tasks.New{Subject: "second", Owner: "ops"})
	if !errors.Is(claimed, tasks.ErrInvalid) || !errors.Is(created, tasks.ErrInvalid) {
		t.Errorf("claimed: %v; created: %v", claimed, created)
	}
	if _, _, err := b.board.Update(t.Context(), Actor{Force: true}, "1", tasks.Patch{Owner: new("ops")}); err != nil {
		t.Errorf("with force: %v", err)
	}
}

// TestMayEnd: who may ask which member to leave, and how long it has.
func TestMayEnd(t *testing.T) {
	b := newTable(t)
	b.crew.gone["ops"] = "it failed"
	for _, tc := range []struct {
		by, to string
		wait   time.Duration
		says   string
	}{
		{"lead", "dev", 0, ""},
		{actors.Operator, "dev", time.Second, ""},
		{"dev", "ops", 0, "only the lead and people may ask"},
		{"lead", "lead", 0, "`covey down` ends the team"},
		{"lead", "ops", 0, "ops has left already: it failed"},
		{"lead", "devv", 0, "did you mean dev?"},
		{"lead", "dev", -time.Second, "it cannot have -1s to answer"}, // it would block the caller forever
	} {
		_, err := b.board.AskToEnd(t.Context(), actors.Actor{Name: tc.by}, tc.to, EndOptions{Wait: tc.wait})
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s ends %s: %v, want %q", tc.by, tc.to, err, tc.says)
		}
	}
}

// TestHarvestedForWhoHangsUp: the work on a task is harvested although the caller that has
// completed it is gone.
func TestHarvestedForWhoHangsUp(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	ctx, hangUp := context.WithCancel(t.Context())
	b.crew.harvests = func(harvesting context.Context) {
		hangUp()
		if err := harvesting.Err(); err != nil {
			t.Errorf("the harvest ends with the caller: %v", err)
		}
	}
	if _, _, err := b.board.Update(ctx, b.as("dev", ""), "1", to(tasks.Completed)); err != nil || b.crew.told == 0 {
		t.Errorf("%v; told %d times", err, b.crew.told)
	}
}

// TestStructuredMessages: what asks for more than to be read goes to the
// protocol, in whatever form it comes, and never into a mailbox as text.
func TestStructuredMessages(t *testing.T) {
	const yes, no = `answers [shutdown]: {ID:r7 Approve:true Text: Mode:}`, `answers [shutdown]: {ID:r7 Approve:false Text:busy Mode:}`
	tests := []struct{ input, said, answer string }{
		{`{"type":"shutdown_request","recipient":"ops","content":"done"}`, `asks ops: lead asks ops to end: done`,
			`"Shutdown request sent to ops. Request ID: r1","request_id":"r1","requestId":"r1","target":"ops"`},
		{`{"to":"@ops","message":{"type":"shutdown_request","reason":"done"},"summary":"bye"}`, `asks ops: lead asks ops to end: done`, "r1"},
		{`{"to":"ops","message":{"type":"shutdown_request"},"summary":"bye"}`, `asks ops: lead asks ops to end: bye`, "r1"},
		{`{"to":"ops","message":"{\"type\":\"shutdown_request\",\"reason\":\"done\"}"}`, `asks ops: lead asks ops to end: done`, "r1"},
		{`{"type":"shutdown_response","request_id":"r7","approve":"true"}`, yes, `Shutdown approved`},
		{`{"type":"shutdown_response","request_id":"r7","approve":true}`, yes, `Shutdown approved. Sent confirmation to lead.`},
		{`{"to":"team-lead","message":{"type":"shutdown_response","requestId":"r7","approve":false,"reason":"busy"}}`, no,
			`Shutdown rejected. Reason: \"busy\". Continuing to work.","request_id":"r7","requestId":"r7"`},
		{`{"to":"lead","message":{"type":"shutdown_approved","requestId":"r7"}}`, yes, "approved"},
		{`{"to":"lead","message":{"type":"shutdown_rejected","request_id":"r7","reason":"busy"}}`, no, "rejected"},
		{`{"type":"plan_approval_response","recipient":"ops","request_id":"r7","approve":false,"content":"smaller"}`,
			`answers [plan approval merge]: {ID:r7 Approve:false Text:smaller Mode:}`, `Plan rejected with feedback: \"smaller\"`},
		{`{"to":"ops","message":{"type":"plan_approval_response","request_id":"r7","approve":true,"permissionMode":"acceptEdits"}}`,
			`answers [plan approval merge]: {ID:r7 Approve:true Text: Mode:acceptEdits}`, "Plan approved."},
		{`{"to":"ops","message":{"type":"approval_response","request_id":"r7","approve":false}}`,
			`answers [plan approval merge]: {ID:r7 Approve:false Text: Mode:}`, "Work rejected. Its author is told, without feedback"},
	}
	for _, tt := range tests {
		b := newTable(t)
		by := "dev"
		if strings.Contains(tt.input, "shutdown_request") {
			by = "lead"
		}
		r := b.call(by, "SendMessage", tt.input)
		if r.IsError || len(b.crew.said) != 1 || b.crew.said[0] != by+" "+tt.said || !strings.Contains(r.Content, tt.answer) {
			t.Errorf("%s\nasked for %q\nwant      %q\nand answers %s", tt.input, b.crew.said, tt.said, r.Content)
		}
		for _, m := range b.board.names() {
			if mail, _ := b.board.deps.Store.Mail().Unread(t.Context(), m); len(mail) > 0 {
				t.Errorf("%s left mail to %s: %+v", tt.input, m, mail)
			}
		}
	}
}

// TestStructuredMessagesRefused: each refusal says what is missing.
func TestStructuredMessagesRefused(t *testing.T) {
	for input, want := range map[string]string{
		`{"to":"*","message":{"type":"shutdown_request"}}`:                                      `only text can go to "*"`,
		`{"to":"*","message":{"type":"shutdown_response","request_id":"r","approve":true}}`:     `only text can go to "*"`,
		`{"message":{"type":"shutdown_request"}}`:                                               `needs a recipient in "to"`,
		`{"to":"ghost","message":{"type":"shutdown_request"}}`:                                  `no member is called "ghost"`,
		`{"to":"dev","message":{"type":"shutdown_request"}}`:                                    "you are dev",
		`{"to":"lead","message":{"type":"shutdown_response"}}`:                                  `needs "request_id", which the request names and "approve"`,
		`{"to":"lead","message":{"type":"shutdown_response","request_id":"r"}}`:                 `a shutdown_response needs "approve": true or false`,
		`{"to":"lead","message":{"type":"plan_approval_response","approve":true}}`:              `needs "request_id"`,
		`{"to":"lead","message":{"type":"shutdown_response","request_id":"r","approve":"yes"}}`: `"approve" must be true or false`,
	} {
		b := newTable(t)
		if r := b.call("dev", "SendMessage", input); !r.IsError || !strings.Contains(r.Content, want) || len(b.crew.said) > 0 {
			t.Errorf("%s says %q (error %v), asked for %v; want %q", input, r.Content, r.IsError, b.crew.said, want)
		}
	}
}

// TestLongMessages: a body over 32 KiB lies in a file of its receiver's, whole,
// and the message says where.
func TestLongMessages(t *testing.T) {
	b := newTable(t)
	long := strings.Repeat("ä line of it\n", mail.MaxText/10)
	sent, err := b.board.sendText(t.Context(), b.as("dev", "c1"), "*", mail.Outgoing{Text: long})
	if err != nil || len(sent) != 2 {
		t.Fatalf("sent %d, %v", len(sent), err)
	}
	again, err := b.board.sendText(t.Context(), b.as("dev", "c2"), "ops", mail.Outgoing{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(sent, again...) {
		path := regexp.MustCompile(`in the file (\S+): read it there`).FindStringSubmatch(m.Text)
		if path == nil || !strings.HasPrefix(path[1], b.board.deps.Letters.Of(m.To)+"/") || len(m.Text) > mail.MaxText {
			t.Fatalf("%s reads, in %d bytes: %.300s", m.To, len(m.Text), m.Text)
		}
		whole, err := os.ReadFile(path[1])
		if err != nil || string(whole) != long {
			t.Errorf("the file of %s has %d bytes of %d: %v", m.To, len(whole), len(long), err)
		}
		if info, err := os.Stat(path[1]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("others can read it: %v, %v", info.Mode(), err)
		}
	}
	if files, err := os.ReadDir(b.board.deps.Letters.Of("ops")); err != nil || len(files) != 1 {
		t.Errorf("the same text twice makes %v, %v", files, err)
	}
	short := strings.Repeat("x", mail.MaxText)
	if sent, err := b.board.sendText(t.Context(), b.as("dev", "c3"), "ops", mail.Outgoing{Text: short}); err != nil || sent[0].Text != short {
		t.Errorf("a text of 32 KiB is not shown whole: %v", err)
	}
}

// TestLongMessageWithoutRoom: what cannot be kept is not sent.
func TestLongMessageWithoutRoom(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newTable(t, file)
	_, err := b.board.sendText(t.Context(), b.as("dev", ""), "ops", mail.Outgoing{Text: strings.Repeat("x", mail.MaxText+1)})
	if err == nil || !strings.Contains(err.Error(), "goes to a file, which cannot be written") {
		t.Errorf("err = %v", err)
	}
	if mail, _ := b.board.deps.Store.Mail().Unread(t.Context(), "ops"); len(mail) > 0 {
		t.Errorf("ops got %d messages", len(mail))
	}
}

func TestNearestName(t *testing.T) {
	all := []string{"lead", "backend", "frontend", "qa", "x"}
	for name, want := range map[string]string{
		"bakend": "backend", "Backend": "backend", "front-end": "frontend", "laed": "", "leda": "", "led": "lead",
		"nobody": "", "q": "", "y": "", "": "", strings.Repeat("backend", 100): "",
	} {
		if got := nearestName(name, all); got != want {
			t.Errorf("nearestName(%.20q) = %q, want %q", name, got, want)
		}
	}
}

// TestForeignForms: agent programs are told of one form, and may use any.
func TestForeignForms(t *testing.T) {
	for input, want := range map[string]string{
		`{"to":"ops","message":"hello"}`:                                `{"message":"hello","to":"ops"}`,
		`{"type":"message","recipient":"ops","content":"hello"}`:        `{"message":"hello","to":"ops"}`,
		`{"to":"ops","message":{"type":"shutdown_request"}}`:            `{"message":"{\"type\":\"shutdown_request\"}","to":"ops"}`,
		`{"type":"shutdown_response","request_id":"r","approve":false}`: `{"message":"{\"approve\":false,\"request_id\":\"r\",\"type\":\"shutdown_response\"}"}`,
		`{"to":"ops","message":["a"]}`:                                  `{"message":["a"],"to":"ops"}`,
		`[]`:                                                            `[]`, `null`: `null`, `nonsense`: `nonsense`,
	} {
		if got := string(foldFor(MCPNames, json.RawMessage(input))); got != want {
			t.Errorf("foldFor(MCPNames, %s) = %s, want %s", input, got, want)
		}
	}
}

// TestFullMailbox: the sender is told, and what to do; nobody else of a
// broadcast gets it either.
func TestFullMailbox(t *testing.T) {
	b := newTable(t)
	dev := b.as("dev", "")
	var all sync.WaitGroup
	for range 1000 { // at once: one commit takes many
		all.Go(func() {
			out := mail.Outgoing{To: []string{"ops"}, Text: "x"}
			if _, err := b.board.deps.Store.Mail().Send(t.Context(), actors.Actor{Name: "x"}, out); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, to := range []string{"ops", "*"} {
		_, err := b.board.sendText(t.Context(), dev, to, mail.Outgoing{Text: "one more"})
		const want = "nothing was sent: mailbox full: ops has 1000 unread messages; wait until it reads them, or do without the message"
		if err == nil || err.Error() != want {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if mail, err := b.board.deps.Store.Mail().Unread(t.Context(), "lead"); err != nil || len(mail) > 0 {
		t.Errorf("the lead has %d messages, %v", len(mail), err)
	}
}
