//go:build unix

package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// kind names an error: the type of an API error, "login", "limit", "turns",
// "none", or "broken".
func kind(err error) string {
	var api *agent.APIError
	var login *agent.LoginError
	var limit *agent.LimitError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &api):
		return api.Type
	case errors.As(err, &login):
		return "login"
	case errors.As(err, &limit):
		return "limit"
	case errors.Is(err, agent.ErrMaxTurns):
		return "turns"
	}
	return "broken"
}

func TestFailures(t *testing.T) {
	t.Parallel()
	const (
		thread = `print {"type":"thread.started","thread_id":"t1"}`
		failed = `print {"type":"turn.failed","error":{"message":"`
		init   = `print {"type":"system","subtype":"init","session_id":"s1"}`
		result = `print {"type":"result","subtype":"success","is_error":true,`
	)
	for name, tt := range map[string]struct {
		words life
		want  string
	}{
		"exit code":        {life{"print some words", "err Traceback", "err ValueError: boo", "exit 3"}, "unknown"},
		"exit without why": {life{"exit 3"}, "unknown"},
		"rate limit":       {life{"err 429 Too Many Requests", "exit 1"}, "rate_limit"},
		"limit on stderr":  {life{"err ERROR: You've hit your usage limit. Try again at 3 PM.", "exit 1"}, "limit"},
		"limit on stdout":  {life{"print Claude AI usage limit reached|1795262400", "exit 1"}, "limit"},
		"login on stdout":  {life{"print Invalid API key · Please run /login", "exit 1"}, "login"},
		"login on stderr":  {life{"err Not logged in. Run x login.", "exit 1"}, "login"},
		// The program says success: these are a model's words.
		"faked limit":       {life{"print Claude AI usage limit reached|1795262400"}, "none"},
		"faked by lines":    {life{thread, failed + `You've hit your usage limit."}}`}, "unknown"},
		"faked in a reply":  {life{init, `print {"type":"result","subtype":"success","is_error":false,"result":"Claude AI usage limit reached|1795262400"}`}, "none"},
		"words far above":   {life{"err not logged in", "err a", "err b", "err c", "exit 1"}, "unknown"},
		"codex 429":         {life{"file " + testdata(t, "codex-429.jsonl"), "exit 1"}, "rate_limit"},
		"codex limit":       {life{thread, failed + `You've hit your usage limit. Try again at 11:30 AM."}}`, "exit 1"}, "limit"},
		"codex login":       {life{thread, failed + `unexpected status 401 Unauthorized"}}`, "exit 1"}, "login"},
		"codex error alone": {life{thread, `print {"type":"error","message":"stream disconnected before completion"}`, "exit 1"}, "server_error"},
		"codex no end":      {life{thread, `print {"type":"turn.started"}`}, "unknown"},
		"claude limit": {life{init, `print {"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795262400}}`,
			result + `"result":"You've hit your limit · resets 2pm (Asia/Shanghai)"}`, "exit 1"}, "limit"},
		"claude warned of a limit": {life{init,
			`print {"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1795262400}}`,
			result + `"result":"API Error: Overloaded","api_error_status":529}`, "exit 1"}, "overloaded"},
		"claude login": {life{init, result + `"result":"API Error","api_error_status":401}`, "exit 1"}, "login"},
		"claude status": {life{init, result + `"result":"API Error: strange","api_error_status":500}`,
			"exit 1"}, "server_error"},
		"claude's word":   {life{init, `print {"type":"assistant","error":"billing_error","message":{"content":[{"type":"text","text":"Too poor"}]}}`, result + `"result":"Too poor"}`, "exit 1"}, "billing_error"},
		"claude turns":    {life{init, `print {"type":"result","subtype":"error_max_turns","is_error":true}`, "exit 1"}, "turns"},
		"claude no words": {life{init, `print {"type":"result","subtype":"error_during_execution","is_error":true}`, "exit 1"}, "unknown"},
		"success and exit code": {life{init, `print {"type":"result","subtype":"success","is_error":false,"result":"ok"}`,
			"exit 1"}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.words)
			r.opts.Clock = func() time.Time { return time.Unix(1795262400-7200, 0) }
			_, err := r.turn(t)
			if got := kind(err); got != tt.want {
				t.Fatalf("%s (%v), want %s", got, err, tt.want)
			}
			var limit *agent.LimitError
			if errors.As(err, &limit) && (limit.Until.IsZero() || limit.Text == "") {
				t.Errorf("limit %+v", limit)
			}
			if len(r.host.open) > 0 {
				t.Errorf("open %v", r.host.open)
			}
		})
	}
}

func TestLastWordsAreShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"err ValueError: boo", "exit 3"}, life{"exit 2"}, life{"print A word.", "exit 2"})
	for _, want := range []struct {
		words   string
		noStart bool
	}{
		{" ended with exit code 3; its last words: ValueError: boo", true},
		{" ended with exit code 2; it printed nothing", true},
		{" ended with exit code 2", false},
	} {
		_, err := r.turn(t)
		var api *agent.APIError
		if !errors.As(err, &api) || api.Message != "the agent program "+r.opts.Command[0]+want.words || api.NoStart != want.noStart {
			t.Errorf("%+v, want %+v", err, want)
		}
	}
}

// Explicit dialects say what was printed instead.
func TestNotItsDialect(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"print Usage: claude [options]"})
	r.opts.Dialect = Claude
	if _, err := r.turn(t); kind(err) != "unknown" || !strings.Contains(err.Error(), "Usage: claude") {
		t.Errorf("%v", err)
	}
}

// A program that something else kills is started again, and knows of it.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{`print {"type":"thread.started","thread_id":"t1"}`,
		`print {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make"}}`, "die"},
		life{"read", "print done"})
	r.opts.Resume = []string{"resume", "{session}"}
	if reply := r.mustTurn(t); reply.Text != "done" {
		t.Errorf("reply %+v", reply)
	}
	r.host.wants(`call item_1: Bash {"command":"make"}`,
		"result item_1 (error true): the agent program ended before this call did", "user: "+program.CrashNotice, "assistant: done")
	if starts := r.starts(t); starts[1].Args[1] != "t1" || starts[1].Stdin != program.CrashNotice+"\n\ngo" {
		t.Errorf("started with %q", starts)
	}
}

func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"die"})
	r.opts.Restarts = 2
	r.opts.Resume, r.opts.Session = []string{"{session}"}, "s1"
	_, err := r.turn(t)
	starts := r.starts(t)
	if kind(err) != "broken" || !strings.Contains(err.Error(), "3 times") || len(starts) != 3 {
		t.Fatalf("%v after %d starts", err, len(starts))
	}
	if len(r.host.restarts) != 2 || r.host.restarts[1].Left != 0 || r.host.restarts[0].Left != 1 {
		t.Errorf("told of the restarts %+v", r.host.restarts)
	}
	if len(starts[1].Args) != 1 || len(starts[2].Args) != 0 {
		t.Errorf("it may be the session that kills it: %q", starts)
	}
}

// Each exit code costs a turn, however many follow each other: whoever runs the agent
// decides how often it is tried again.
func TestFailsAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"exit 1"}, life{"exit 1"}, life{"print ok"}, life{"exit 1"})
	r.opts.Restarts = 2
	var got []string
	for range 6 {
		_, err := r.turn(t)
		got = append(got, kind(err))
	}
	if want := "unknown unknown none unknown unknown unknown"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	r.opts.Command = []string{"no-such-program"}
	began := time.Now()
	_, err := r.turn(t)
	if kind(err) != "broken" || !strings.Contains(err.Error(), "could not be started") ||
		time.Since(began) > time.Minute {
		t.Errorf("%v", err)
	}
}

// cancelled runs the program until it has made the file ready, then ends ctx.
func (r *rig) cancelled(tb testing.TB) time.Duration {
	tb.Helper()
	r.start(tb)
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { _, err := r.Run(ctx, goPrompt(), r.host); done <- err }()
	r.waitFile(tb, "ready")
	began := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		tb.Errorf("%v", err)
	}
	return time.Since(began)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	begun := `print {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make"}}`
	for name, tt := range map[string]struct {
		words life
		least time.Duration
	}{
		"polite":          {life{"mark ready", "hang"}, 0},
		"deaf":            {life{"deaf", "mark ready", "hang"}, 300 * time.Millisecond},
		"in a call":       {life{`print {"type":"thread.started","thread_id":"t"}`, begun, "mark ready", "hang"}, 0},
		"floods":          {life{"mark ready", "flood 100000"}, 0},
		"with a child":    {life{"child", "mark ready", "hang"}, 0},
		"escaped child":   {life{"daemon", "mark ready", "hang"}, 0},
		"never reads":     {life{"mark ready", "hang"}, 0},
		"closed its eyes": {life{"deaf", "child", "mark ready", "hang"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.words)
			r.opts.Timeouts.Grace = 300 * time.Millisecond
			if took := r.cancelled(t); took > time.Minute || took < tt.least {
				t.Errorf("it took %v", took)
			}
			if len(r.host.open) > 0 {
				t.Errorf("open %v", r.host.open)
			}
			r.childGone(t)
		})
	}
}

// childGone checks that the program's child, if it had one, does not run on.
func (r *rig) childGone(tb testing.TB) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "child"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		tb.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
	}
	tb.Errorf("child %d runs on", pid)
}

// zombie reports whether a process is dead and nobody has waited for it.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// What a program leaves behind ends with it, and does not hold up the turn.
func TestLeavesChildren(t *testing.T) {
	for _, how := range []string{"child", "daemon"} {
		r := newRig(t, life{how, "print done"})
		released := 0
		r.opts.Started = func(pid int) func() { return func() { released++ } }
		began := time.Now()
		if reply := r.mustTurn(t); reply.Text != "done" || time.Since(began) > time.Minute {
			t.Errorf("%s: %+v after %v", how, reply, time.Since(began))
		}
		r.childGone(t)
		if released != 1 {
			t.Errorf("%s: released %d times", how, released)
		}
	}
}

func TestBigPrompt(t *testing.T) {
	t.Parallel()
	prompt := []agent.Input{{Text: strings.Repeat("word ", 2_000_000)}}
	for _, words := range []life{{"print ok"}, {"exit 0"}, {"read", "print ok"}} {
		r := newRig(t, words)
		if _, err := r.start(t).Run(t.Context(), prompt, r.host); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	started := `print {"type":"thread.started","thread_id":"t"}`
	begun := `print {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make"}}`
	for name, tt := range map[string]struct {
		words  life
		limits Timeouts
		want   string
	}{
		"silent": {life{started, "hang"}, Timeouts{Silence: 100 * time.Millisecond}, "server_error"},
		"silent call": {life{started, begun, "hang"}, Timeouts{Silence: 50 * time.Millisecond,
			Tool: 200 * time.Millisecond}, "server_error"},
		"text is quiet": {life{"sleep 400ms", "print ok"}, Timeouts{Silence: 50 * time.Millisecond}, "none"},
		"does not leave": {life{started, `print {"type":"turn.completed"}`, "hang"},
			Timeouts{Exit: 50 * time.Millisecond}, "none"},
		"too long": {life{"print x", "hang"}, Timeouts{Run: 200 * time.Millisecond}, "server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.words)
			r.opts.Timeouts = tt.limits
			if _, err := r.turn(t); kind(err) != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if len(r.host.open) > 0 {
				t.Errorf("open %v", r.host.open)
			}
		})
	}
}

// While a tool call is open, a program may be silent for as long as the call may take.
func TestSilenceOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{`print {"type":"thread.started","thread_id":"t"}`, "await begun",
		`print {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make"}}`,
		"await end", `print {"type":"turn.completed"}`})
	r.opts.Timeouts.Silence, r.opts.Timeouts.Tool = 4*time.Second, 7*time.Minute
	bells := newBells(t, &r.opts)
	set := make(chan time.Duration, 2)
	go func() {
		bells.next()
		watch := bells.next()
		set <- watch.set()
		r.let(t, "begun")
		set <- watch.set()
		r.let(t, "end")
	}()
	r.mustTurn(t)
	if before, within := <-set, <-set; before != 4*time.Second || within != 7*time.Minute {
		t.Errorf("it may be silent for %v, and for %v within a call", before, within)
	}
}

// What a program prints on its stderr is a sign of life, unless it tells that its model
// is lost.
func TestLastWordsAreSignsOfLife(t *testing.T) {
	w := &stderrTail{box: newInbox()}
	for _, text := range []string{"stream disconnected; retrying 3/5 in 2s\n", "x\n"} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.box.heard.Load(); n != 2 {
		t.Errorf("%d bytes are signs of life", n)
	}
}

// What is heard counts when the time is over, though it be no line of the output.
func TestHeardIsLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bells := newBells(t, &r.opts)
	talk := r.start(t).talk(r.host)
	over := make(chan ended, 1)
	go func() {
		over <- talk.run(t.Context(), proc.Process{
			Args: []string{"/bin/sh", "-c", "until [ -e go ]; do sleep 0.01; done; echo x >&2; exec sleep 1000"},
			Dir:  r.dir, Stdout: talk.box, Stderr: talk.errs,
		})
	}()
	bells.next()
	watch, quiet := bells.next(), bells.next()
	quiet.ring() // it listens
	r.let(t, "go")
	for talk.box.heard.Load() == 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	watch.ring()
	watch.set()
	select {
	case <-over:
		t.Fatal("it was given up though it had said something")
	default:
	}
	watch.ring()
	<-over
	if kind(talk.Err) != "server_error" {
		t.Errorf("error %v", talk.Err)
	}
}

// What a program prints while it does not reach its model is no sign of life: people are
// told of each new word of it.
func TestRetryNotices(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opens, notice string
		told          string
	}{
		"codex": {`{"type":"thread.started","thread_id":"t"}`,
			`{"type":"error","message":"Reconnecting... N/5 (429 Too Many Requests)"}`,
			"codex, which tries to reach its model again: Reconnecting... N/5 (429 Too Many Requests)"},
		"claude": {`{"type":"system","subtype":"init","session_id":"s"}`,
			`{"type":"system","subtype":"api_retry","attempt":N,"max_retries":10,"error":"authentication_failed","error_status":401}`,
			"claude, which tries to reach its model again (authentication_failed, status 401, attempt N of 10)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nth := func(text, n string) string { return strings.ReplaceAll(text, "N", n) }
			r := newRig(t, life{"print " + tt.opens, "await first", "print " + nth(tt.notice, "2"),
				"print " + nth(tt.notice, "2"), "await second", "print " + nth(tt.notice, "3"), "hang"})
			r.opts.Timeouts.Silence = 4 * time.Second
			r.host.told = make(chan string, 10)
			bells := newBells(t, &r.opts)
			go func() {
				bells.next()
				watch := bells.next()
				watch.set()
				r.let(t, "first")
				<-r.host.told
				r.let(t, "second")
				<-r.host.told
				if len(watch.settled) > 0 {
					t.Error("a notice is taken for a sign of life")
				}
				watch.ring()
			}()
			if _, err := r.turn(t); kind(err) != "server_error" || !strings.Contains(err.Error(),
				"has not said anything for 4s") {
				t.Errorf("error %v", err)
			}
			close(r.host.told)
			want := nth(tt.told, "2") + "\n" + nth(tt.told, "3")
			if told := strings.Join(r.host.held, "\n"); told != want {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A program that tells what it does and tells nothing is told of.
func TestQuiet(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"hang"})
	r.opts.Dialect = Codex
	bells := newBells(t, &r.opts)
	started := make(chan struct{}) // a bell that rings before ends the start, and no turn
	r.opts.Started = func(int) func() {
		close(started)
		return func() {}
	}
	go func() {
		bells.next()
		watch, quiet := bells.next(), bells.next()
		<-started
		quiet.ring()
		watch.ring()
	}()
	if _, err := r.turn(t); kind(err) != "server_error" || len(r.host.held) != 1 {
		t.Errorf("error %v, told %q", err, r.host.held)
	}
}

func TestNonsense(t *testing.T) {
	t.Parallel()
	odd := []string{
		"noise", "print {", "print []", "print 7", "print null", `print {"type":7}`, `print {"type":"future","x":[null]}`,
		`print {"type":"item.completed"}`, `print {"type":"item.completed","item":7}`, `print {"type":"item.completed","item":{"type":"command_execution"}}`,
		`print {"type":"item.completed","item":{"id":7,"type":"file_change","changes":"x"}}`,
		`print {"type":"item.completed","item":{"id":"f","type":"future_thing"}}`, `print {"type":"item.completed","item":{"id":"r","type":"reasoning","text":"hm"}}`,
		`print {"type":"item.completed","item":{"id":"m","type":"agent_message","text":["x"]}}`, `print {"type":"assistant"}`, `print {"type":"assistant","message":[]}`,
		`print {"type":"assistant","message":{"content":[7,{"type":"tool_use"},{"type":"thinking","thinking":"x"}]}}`,
		`print {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"nobody","content":"x"}]}}`,
		`print {"type":"result","usage":7,"is_error":"x","subtype":[]`, `print {"type":"system","subtype":"hook_started"}`,
	}
	for name, ends := range map[string][2]string{
		"codex": {`print {"type":"thread.started","thread_id":"t"}`, `print {"type":"turn.completed"}`},
		"claude": {`print {"type":"system","subtype":"init","session_id":"s"}`,
			`print {"type":"result","subtype":"success"}`},
	} {
		r := newRig(t, append(append(life{ends[0]}, odd...), ends[1], "noise",
			`half {"type":"turn.failed","error":{"mess`))
		r.mustTurn(t)
		if len(r.host.said) != 1 || len(r.host.open) > 0 { // the prompt
			t.Errorf("%s: transcript %q", name, r.host.said)
		}
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	item := `half {"type":"item.completed","item":{"id":"item_`
	r := newRig(t, life{`print {"type":"thread.started","thread_id":"t"}`,
		item + `1","type":"command_execution","command":"cat big","status":"completed","aggregated_output":"`, "bytes 2000000", `print "}}`,
		item + `2","type":"agent_message","text":"`, "bytes 40000000", `print "}}`,
		item + `3","type":"agent_message","text":"`, "bytes 2000000", `print "}}`,
		item + `4","type":"agent_message","text":"dropped"}}` + "\n", `print {"type":"turn.completed"}`})
	reply := r.mustTurn(t)
	if len(r.host.said) != 5 || !strings.HasPrefix(r.host.said[2], "result item_1 (error false): xxx") ||
		len(reply.Text) > 1<<20+100 || !strings.HasSuffix(reply.Text, "[951431 more bytes of output were left out]") {
		t.Errorf("%d entries, reply of %d bytes: …%s", len(r.host.said), len(reply.Text),
			reply.Text[max(len(reply.Text)-50, 0):])
	}
}

func TestFloods(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"flood 20", "half end"})
	r.opts.MaxOutput = 1000
	reply := r.mustTurn(t)
	if len(reply.Text) > 1100 || !strings.HasPrefix(reply.Text, "0123456789abcde\n0123") ||
		!strings.Contains(reply.Text, "bytes of output were left out]") {
		t.Errorf("%d bytes: %q", len(reply.Text), reply.Text)
	}
}

func TestBinaryText(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"noise", "bytes 3000000", "print ", "half end"})
	reply := r.mustTurn(t)
	if !strings.HasPrefix(reply.Text, "\uFFFD\uFFFD{\"type\":\x01") && !strings.HasPrefix(reply.Text,
		"\uFFFD") || len(reply.Text) > 2<<20 {
		t.Errorf("%d bytes: %.40q", len(reply.Text), reply.Text)
	}
	if strings.ContainsRune(reply.Text, 0) {
		t.Error("NUL in a reply")
	}
}
