package acp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
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

// clockwork times the first starts of a rig, which hang at a method: each part of the limit is over
// as soon as the program hangs. It returns how many parts were waited for.
func clockwork(t *testing.T, r *rig, at string, hanging int) (parts *atomic.Int32) {
	parts = &atomic.Int32{}
	starts := 0
	r.opts.Started = func(int) func() { starts++; return nil }
	r.opts.Timeouts.Grace = 50 * time.Millisecond
	r.opts.After = func(d time.Duration) <-chan time.Time {
		if d != r.opts.Timeouts.Start/startParts || starts > hanging {
			return nil
		}
		late, mine := make(chan time.Time), starts
		go func() {
			for strings.Count(strings.Join(r.logNow(), "\n"), `"`+at+`"`) < mine {
				select {
				case <-t.Context().Done():
					return
				case <-time.After(time.Millisecond):
				}
			}
			select {
			case late <- time.Time{}:
				parts.Add(1)
			case <-t.Context().Done():
			}
		}()
		return late
	}
	return parts
}

// A start that is late is tried again, with more time each time, and costs no session; a program that
// computes is not late.
func TestHangsAtStart(t *testing.T) {
	t.Parallel()
	hang := func(at string) life { return life{Deaf: true, On: mapped{at: {"hang"}}} }
	for _, tt := range []struct {
		name, at string
		cpu      bool // it computes in the first 20 parts
		parts    int32
		entered  string // the method that opens the session in the end
	}{
		{"initialize", "initialize", false, 3 * startParts, "session/resume"},
		{"resume", "session/resume", false, 3 * startParts, "session/resume"},
		{"busy", "session/resume", true, 3*startParts + 20, "session/resume"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, hang(tt.at), hang(tt.at), life{})
			r.opts.Session, r.opts.Known = "old", true
			parts, looks := clockwork(t, r, tt.at, 2), 0
			r.opts.CPU = func(int) time.Duration {
				if looks++; tt.cpu {
					return time.Hour * time.Duration(min(looks, 22)) // one look before each of the two waits
				}
				return 0
			}
			r.mustTurn(t)
			if got := parts.Load(); got != tt.parts {
				t.Errorf("it waited for %d parts of the limit, want %d", got, tt.parts)
			}
			if methods := r.methods(t); methods[len(methods)-2] != tt.entered {
				t.Errorf("methods %v", methods)
			}
			if slices.ContainsFunc(r.host.events, isFresh) {
				t.Errorf("the session is lost: %v", r.host.events)
			}
		})
	}
}

func isFresh(d events.Data) bool { _, ok := d.(events.FreshSession); return ok }

// A program that is late for ever is given up in a limited time: one that is known to speak the
// protocol is not asked whether it does, and is tried at last without its session.
func TestIsLateForEver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, at string
		known    bool
		cpu      bool // it computes all the time
		parts    int32
		want     string
		methods  string // of the last start
	}{
		{"unknown", "initialize", false, false, 3 * startParts, "it was started 2 times and did not answer; does it speak", "initialize"},
		{"known", "initialize", true, false, maxLate * startParts, "it was started 4 times in a row and opened no session in 1h15m0s", "initialize"},
		{"computes", "initialize", true, true, maxLate * startParts, "it was started 1 times in a row", "initialize"},
		{"session", "session/resume", true, false, (1 + 2 + 4) * startParts, "", "initialize session/new session/prompt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, life{Deaf: true, On: mapped{tt.at: {"hang"}}})
			r.opts.Session, r.opts.Known = "old", tt.known
			parts, looks := clockwork(t, r, tt.at, 9), time.Duration(0)
			r.opts.CPU = func(int) time.Duration {
				if tt.cpu {
					looks++
				}
				return looks * time.Hour
			}
			_, err := r.turn(t)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if got := parts.Load(); got != tt.parts {
				t.Errorf("it waited for %d parts of the limit, want %d", got, tt.parts)
			}
			methods := strings.Join(r.methods(t), " ")
			if last := methods[strings.LastIndex(methods, "initialize"):]; last != tt.methods {
				t.Errorf("the last start: %s", last)
			}
			if fresh := slices.ContainsFunc(r.host.events, isFresh); fresh != (tt.name == "session") {
				t.Errorf("a fresh session is reported: %t; %v", fresh, r.host.events)
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
