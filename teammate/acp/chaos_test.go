package acp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// chaos makes prompts of whatever a program may do, in any order.
type chaos struct{ *rand.Rand }

// word is one thing that the program does.
func (c chaos) word() string {
	id := fmt.Sprint("c", c.IntN(3)) // few, so that calls are taken up again, ended twice, and used anew by later prompts
	status := []string{"pending", "in_progress", "completed", "failed", "cancelled", "whatever"}[c.IntN(6)]
	return []string{
		"say hm ", "say ", "burst 30", "tool " + id + " ls", "done " + id + " out", "ask " + id + " ls", "ask " + id + " ls",
		`update {"sessionUpdate":"tool_call_update","toolCallId":"` + id + `","status":"` + status + `"}`,
		`update {"sessionUpdate":"tool_call","toolCallId":"` + id + `","status":"` + status + `","kind":"edit","locations":[{"path":"/a"},{"path":"/b"}]}`,
		`update {"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}`, `update {"sessionUpdate":["odd"]}`,
		`raw {"jsonrpc":"2.0","id":` + fmt.Sprint(c.IntN(9)) + `,"result":{"stopReason":"end_turn"}}`, // perhaps of something that is asked
		`raw {"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"odd"}}`,
		`raw {"id":70,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"` + id + `"},"options":[]}}`,
		`raw {"id":71,"method":"session/request_permission"}`, "raw }{", "raw \xff", `raw {"id":null,"error":{}}`, `raw {"method":"x"}`,
		"big 64 " + id, "half {\"jsonrpc\":",
	}[c.IntN(21)]
}

// life is a program of many prompts, most of which come to an end.
func (c chaos) life() life {
	l := life{Init: steerInit}
	if c.IntN(2) == 0 {
		l.Init = ""
	}
	for range 20 {
		var words []string
		for range c.IntN(12) {
			words = append(words, c.word())
		}
		end := "end end_turn"
		switch c.IntN(12) {
		case 0:
			end = "die"
		case 1:
			end = "close"
		case 2:
			end = `error {"code":-32603,"message":"odd"}`
		case 3:
			end = "end max_tokens"
		}
		l.Prompts = append(l.Prompts, append(words, "raw ", end)) // the empty line ends a half one
	}
	return l
}

// Whatever a program does, in whatever order: each turn comes to its end, and
// the transcript keeps its rules, which the host holds it against.
func TestChaos(t *testing.T) {
	seeds := 3
	if *allRounds {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			c := chaos{rand.New(rand.NewPCG(uint64(seed), 3))}
			var lives []life
			for range 12 {
				lives = append(lives, c.life())
			}
			r := newRig(t, append(lives, life{})...)
			// Half a line swallows the one behind it, which may be a question.
			const soon = 400 * time.Millisecond
			r.opts.Timeouts = Timeouts{Start: 5 * time.Minute, Silence: soon, Tool: soon, Cancel: soon, Grace: soon}
			for range 30 {
				if c.IntN(3) == 0 {
					r.host.mail = append(r.host.mail, []agent.Input{{Kind: agent.FromMail, Text: "mail"}})
				}
				r.chaoticTurn(t)
			}
		})
	}
}

// chaoticTurn is a turn that may fail as turns do, and in no other way.
func (r *rig) chaoticTurn(t *testing.T) {
	t.Helper()
	_, err := r.turn(t)
	var api *agent.APIError
	var answer *rpcError
	known := err == nil || errors.As(err, &api) || errors.As(err, &answer) || errors.Is(err, errCrash)
	if !known || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the turn ended with %v; the transcript:\n%s", err, strings.Join(r.host.said, "\n"))
	}
	if len(r.host.open) > 0 {
		t.Fatalf("calls %v have no result", r.host.open)
	}
	if slices.ContainsFunc(r.host.asked, func(c agent.ToolCall) bool { return c.Name == "" }) {
		t.Error("a call without a name was decided on")
	}
}

// A program that asks, sends more than there is room for and is killed waits
// for no answer any more, though nobody has read its last words.
func TestQuestionBeforeAFlood(t *testing.T) {
	t.Parallel()
	flood := []string{`raw {"id":1000,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"}}}`}
	for range 4 {
		flood = append(flood, "big 16 c1")
	}
	r := newRig(t, life{Prompts: [][]string{{"end end_turn"}, append(flood, "hang")}}, life{})
	r.mustTurn(t)
	r.live.conn.in.mu.Lock()
	r.live.conn.in.most = 4 << 14 // three lines fit, with what is around their text
	r.live.conn.in.mu.Unlock()
	before := r.live.conn.heard.Load()
	r.host.permit = func(ctx context.Context, _ agent.ToolCall) agent.Permission {
		// The question and four lines, the last of which has no room.
		for r.live.conn.heard.Load() < before+5 {
			time.Sleep(time.Millisecond) // nobody tells of it
		}
		if p, err := os.FindProcess(r.live.proc.PID()); err != nil || p.Kill() != nil {
			t.Error("the program could not be killed")
		}
		<-ctx.Done()
		return agent.Permission{}
	}
	if reply := r.mustTurn(t); reply.Text != "done" || len(r.host.asked) != 1 || len(r.host.open) != 0 {
		t.Errorf("reply %+v, asked %v, open %v", reply, r.host.asked, r.host.open)
	}
}

// A question about a call that has its result is decided, and stands in no
// transcript; so does one without any call.
func TestQuestionAboutNoOpenCall(t *testing.T) {
	t.Parallel()
	const ask = `raw {"id":1000,"method":"session/request_permission","params":{"toolCall":%s,"options":[{"optionId":"y","kind":"allow_once"}]}}`
	r := newRig(t, life{Prompts: [][]string{{
		"tool c1 x", "done c1 y", fmt.Sprintf(ask,
			`{"toolCallId":"c1","kind":"execute","rawInput":{"command":"rm x"}}`),
		fmt.Sprintf(ask, `{"kind":"execute","rawInput":{"command":"ls"}}`), fmt.Sprintf(ask,
			"null"), "say on", "end end_turn",
	}}})
	r.mustTurn(t)
	r.host.wants(`call c1: Bash {"command":"x"}`, "result c1 (error false): y", "assistant: on")
	var asked []string
	for _, c := range r.host.asked {
		asked = append(asked, c.Name+" "+string(c.Input))
	}
	if want := []string{`Bash {"command":"rm x"}`, `Bash {"command":"ls"}`, "Tool {}"}; !slices.Equal(asked, want) {
		t.Errorf("asked was %q, want %q", asked, want)
	}
}

// Programs count their calls anew with each prompt: the calls of one are not
// those of the one before.
func TestCallsWithTheIDsOfBefore(t *testing.T) {
	t.Parallel()
	again := []string{"ask c1 ls", "done c1 out", "end end_turn"}
	r := newRig(t, life{Prompts: [][]string{again, again}})
	for range 2 {
		r.host.said = nil
		r.mustTurn(t)
		r.host.wants(`call c1: Bash {"command":"ls"}`, "result c1 (error false): out", "assistant: [selected yes]")
	}
	if len(r.host.asked) != 2 {
		t.Errorf("asked was %d times", len(r.host.asked))
	}
}
