package acp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// What a program may send without harm, between a turn's first and last word.
func TestNonsense(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"unknown updates": {`update {"sessionUpdate":"compaction_summary_chunk","content":{"type":"text","text":"no"}}`, `update {"sessionUpdate":7}`, `update 7`, `update null`},
		"unknown methods": {`raw {"jsonrpc":"2.0","method":"qwen/whatever","params":[]}`,
			`raw {"jsonrpc":"2.0","id":"f1","method":"fs/read_text_file","params":{}}`},
		"unknown fields": {`update {"sessionUpdate":"agent_thought_chunk","content":[1],"future":{"x":[null]}}`},
		"no JSON": {"raw hello", "raw {", "raw }{", "raw []", "raw 7", "raw \xff\xfe",
			`raw {"jsonrpc":"2.0"}`, "raw null"},
		"wrong ids": {`raw {"id":99,"result":{}}`, `raw {"id":"x","result":{}}`,
			`raw {"id":{"a":1},"result":{}}`, `raw {"id":null,"result":{}}`, `raw {"result":{}}`},
		"odd errors": {`raw {"id":99,"error":"boo"}`, `raw {"id":99,"error":{"code":"x","message":[1]}}`},
		"duplicate answer": {`raw {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7}}`,
			`raw {"jsonrpc":"2.0","id":2,"error":{"code":1}}`},
		"other session": {`raw {"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"}}}}`},
		"odd tool calls": {`update {"sessionUpdate":"tool_call"}`,
			`update {"sessionUpdate":"tool_call","toolCallId":7,"status":"completed"}`, `update {"sessionUpdate":"tool_call_update","toolCallId":"p","status":[],"content":"x","locations":7}`},
		"odd chunks": {`update {"sessionUpdate":"agent_message_chunk"}`,
			`update {"sessionUpdate":"agent_message_chunk","content":"x"}`, `update {"sessionUpdate":"agent_message_chunk","content":null,"messageId":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			script := slices.Concat([]string{"say a"}, words, []string{"say b", "end end_turn"})
			before := words
			if name == "duplicate answer" {
				before = nil // it would be the first one
			}
			r := newRig(t, life{Before: before, Prompts: [][]string{script}})
			r.mustTurn(t)
			r.host.wants("assistant: ab")
			r.mustTurn(t)
		})
	}
}

func TestLateAndDoubleAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{
		{"say one", "end end_turn", "end end_turn", "say late", `raw {"id":$ID,"error":{"code":-32000}}`,
			`raw {"id":77,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"}}}`},
		{"say two", "end end_turn"},
	}})
	r.mustTurn(t)
	// What comes while no prompt runs is nobody's: wait until all of it has come.
	for !strings.Contains(strings.Join(r.logNow(), "\n"), `"id":77`) {
		time.Sleep(time.Millisecond)
	}
	if reply := r.mustTurn(t); reply.Text != "two" {
		t.Errorf("reply %+v", reply)
	}
	if len(r.host.asked) != 0 || slices.Contains(r.host.said, "assistant: late") {
		t.Errorf("asked %v, transcript %q", r.host.asked, r.host.said)
	}
}

// A program that answers and ends at once has answered.
func TestAnswersAndDies(t *testing.T) {
	t.Parallel()
	var r *rig
	for first := time.Now(); ; { // until the machine is fast enough to tell the turn from the wait
		r = newRig(t, life{Init: steerInit, On: mapped{"_session/steering": {}}, Prompts: [][]string{
			{"tool c1 x", "done c1 y", "steered silently", "end end_turn", "die"}}}, life{})
		r.host.mail = [][]agent.Input{{{Kind: agent.FromMail, Text: "mail"}}}
		began := time.Now()
		r.mustTurn(t)
		if time.Since(began) < steerWait {
			break
		}
		if time.Since(first) > time.Minute {
			t.Fatalf("it takes %v, each time", time.Since(began))
		}
	}
	r.one(t, "session/prompt", "mail") // said again, to the next process
}

func TestAnswerWithIDAsString(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"say x", `raw {"id":"$ID","result":{"stopReason":"end_turn"}}`}}})
	r.mustTurn(t)
}

func TestBurst(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"burst 5000", "end end_turn"}}})
	reply := r.mustTurn(t)
	if !strings.HasPrefix(reply.Text, "0,1,2,") || !strings.HasSuffix(reply.Text, ",4998,4999,") {
		t.Errorf("text %.40s … %d bytes", reply.Text, len(reply.Text))
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it reads 67 MiB, one line behind the other")
	}
	r := newRig(t, life{Prompts: [][]string{{"big 2048 c1", "say ok", "end end_turn"}, {"big 66560 c2",
		"say still here", "end end_turn"}}})
	r.opts.Timeouts.Quiet = 5 * time.Minute // a busy machine may need more than 20 s for such a line
	r.mustTurn(t)
	if len(r.host.said) != 4 || !strings.HasPrefix(r.host.said[2], "result c1 (error false): xxx") {
		t.Errorf("transcript: %.200q", r.host.said)
	}
	if reply := r.mustTurn(t); reply.Text != "still here" || len(r.host.events) != 1 {
		t.Errorf("reply %+v, events %v", reply, r.host.events)
	}
}

// Calls side by side, ended in another order, with words between: each has one
// result, and nothing is lost.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		"tool c1 a", "tool c2 b", "say between", "tool c3 c", "done c3 3", "done c1 1", "done c1 again", "done c2 2", "say end", "end end_turn",
	}}})
	r.mustTurn(t)
	r.host.wants(`call c1: Bash {"command":"a"}`, "result c1 (error false): 1",
		`call c2: Bash {"command":"b"}`, "assistant: between", `call c3: Bash {"command":"c"}`,
		"result c3 (error false): 3", "result c2 (error false): 2", "assistant: end")
}

// The program dies at every point of the protocol, once: it is started again
// and the turn comes to its end.
func TestDiesOnce(t *testing.T) {
	t.Parallel()
	points := map[string]life{
		"before anything":   {Before: []string{"die"}},
		"initialize":        {On: mapped{"initialize": {"die"}}},
		"session/new":       {On: mapped{"session/new": {"die"}}},
		"prompt":            {On: mapped{"session/prompt": {"die"}}},
		"half a line":       {Prompts: [][]string{{"say x", `half {"jsonrpc":"2.0","method":"sess`, "die"}}},
		"half an answer":    {Prompts: [][]string{{`half {"jsonrpc":"2.0","id":3,"result":{"stopReas`, "die"}}},
		"in a message":      {Prompts: [][]string{{"say x", "die"}}},
		"in a call":         {Prompts: [][]string{{"tool c1 x", "die"}}},
		"after a call":      {Prompts: [][]string{{"tool c1 x", "done c1 y", "die"}}},
		"after permission":  {Prompts: [][]string{{"ask c1 x", "die"}}},
		"closes its output": {Prompts: [][]string{{"say x", "close"}}},
	}
	for name, first := range points {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, first, life{})
			r.opts.Timeouts.Grace = 200 * time.Millisecond
			if reply := r.mustTurn(t); reply.Text != "done" {
				t.Errorf("reply %+v", reply)
			}
			if len(r.host.open) > 0 {
				t.Errorf("open %v", r.host.open)
			}
			var told bool
			for _, line := range r.host.said {
				told = told || strings.Contains(line, "started again")
			}
			if touched := len(first.Prompts) > 0 && name != "half an answer"; told != touched {
				t.Errorf("told of the crash: %t; transcript %q", told, r.host.said)
			}
			if got := r.methods(t); first.On == nil && first.Before == nil && !slices.Contains(got,
				"session/resume") {
				t.Errorf("methods: %v", got)
			}
		})
	}
}

// The session that was entered again and kills the program is left for a new
// one; a program that dies for ever is given up, with its last words.
func TestDiesForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{On: mapped{"session/resume": {"die"}, "session/load": {"die"}}})
	r.opts.Session, r.opts.Brief = "poison", func() string { return "the brief" }
	r.mustTurn(t)
	r.one(t, "session/prompt", "the brief")

	r = newRig(t, life{Prompts: [][]string{{"say x", "die"}}})
	r.opts.Restarts = 2
	_, err := r.turn(t)
	if err == nil || !errors.Is(err, errCrash) || !strings.Contains(err.Error(), "3 times") ||
		!strings.Contains(err.Error(), "dying as told") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
	if starts := strings.Count(strings.Join(r.methods(t), " "), "initialize"); starts != 3 {
		t.Errorf("%d starts", starts)
	}

	// One that never comes up is named, to be tried by hand.
	r = newRig(t, life{On: mapped{"initialize": {"die"}}})
	r.opts.Restarts = 1
	_, err = r.turn(t)
	if err == nil || !strings.Contains(err.Error(), "at its start: "+r.opts.Command[0]+" (exit status 3; its last words: ") ||
		!strings.HasSuffix(err.Error(), "; run that program by hand to see what is wrong with it") {
		t.Errorf("error %v", err)
	}
}

func TestHangsAtStart(t *testing.T) {
	t.Parallel()
	for wait, at := range []string{"initialize", "session/new"} { // each has a wait of its own
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, life{Deaf: true, On: mapped{at: {"hang"}}}, life{})
			r.opts.Timeouts.Grace = 50 * time.Millisecond
			waits := 0
			r.opts.After = func(d time.Duration) <-chan time.Time {
				if d != r.opts.Timeouts.Start {
					return nil
				}
				if waits++; waits != wait+1 {
					return nil
				}
				late := make(chan time.Time, 1)
				go func() { // its time is over as soon as it hangs
					for !strings.Contains(strings.Join(r.logNow(), "\n"), `"`+at+`"`) {
						time.Sleep(time.Millisecond)
					}
					late <- time.Time{}
				}()
				return late
			}
			r.mustTurn(t)
			if waits != wait+3 {
				t.Errorf("%d waits", waits)
			}
		})
	}
}

func TestWrongVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Init: `{"protocolVersion":2}`})
	r.opts.Restarts = 1
	if _, err := r.turn(t); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("error %v", err)
	}
}

// Limits and logins end the Run at once, at any point, without a restart.
func TestLimitsAndLogins(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		life  life
		login bool
	}{
		{life{On: mapped{"session/new": {`error {"code":-32000,"message":"Authentication required"}`}}}, true},
		{life{On: mapped{"initialize": {`error {"code":-32000,"message":"x"}`}}}, true},
		{life{Prompts: [][]string{{`error {"code":-32000,"message":"x"}`}}}, true},
		{life{Prompts: [][]string{{"say Invalid API key · Please run /login", "end end_turn"}}}, true},
		{life{Prompts: [][]string{{`error {"code":-32603,"message":"You've hit your usage limit. Try again in 3 days 4 hours."}`}}}, false},
		{life{Prompts: [][]string{{"say Claude AI usage limit reached|1900000000", "end end_turn"}}}, false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := newRig(t, tt.life)
			_, err := r.turn(t)
			var login *agent.LoginError
			var limit *agent.LimitError
			switch {
			case tt.login && !errors.As(err, &login), !tt.login && !errors.As(err, &limit):
				t.Errorf("error %v", err)
			case limit != nil && limit.Until.Before(time.Now()):
				t.Errorf("limited until %v", limit.Until)
			}
			if starts := strings.Count(strings.Join(r.methods(t), " "), "initialize"); starts != 1 {
				t.Errorf("%d starts", starts)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for reason, typ := range map[string]string{
		"end_turn": "", "cancelled": "", "max_turn_requests": "", "something_new": "", "": "",
		"max_tokens": "max_output_tokens", "refusal": "invalid_request",
	} {
		r := newRig(t, life{Prompts: [][]string{{"say x", "end " + reason}}})
		_, err := r.turn(t)
		var api *agent.APIError
		if errors.As(err, &api) != (typ != "") || api != nil && api.Type != typ || api == nil && err != nil {
			t.Errorf("%q: error %v", reason, err)
		}
	}
}

func TestLostSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{`error {"code":-32603,"message":"Session not found"}`}}}, life{})
	r.opts.Brief = func() string { return "the brief" }
	r.mustTurn(t)
	r.one(t, "session/prompt", "the brief")
}

func TestSessionIDCannotBeKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	full := errors.New("disk full")
	r.opts.OnSession = func(string) error { return full }
	if _, err := r.turn(t); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// TestCutCallShowsWhy: what a call showed before its program died, such as what
// it was for, is no result of it.
func TestCutCallShowsWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		`update {"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","kind":"execute","status":"in_progress",` +
			`"rawInput":{"command":"ls"},"content":[{"type":"content","content":{"type":"text","text":"Look around"}}]}`, "die",
	}}}, life{})
	r.mustTurn(t)
	if want := "result c1 (error true): Look around\nthe agent program ended before this call did"; r.host.said[2] != want {
		t.Errorf("transcript: %q, want %q in it", r.host.said, want)
	}
}
