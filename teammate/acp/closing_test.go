package acp

import (
	"errors"
	"strconv"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// Failures that programs tell of in the model's place, as they were recorded, end the turn
// as a failure; a model's own words about failures do not.
func TestFailuresToldAsText(t *testing.T) {
	t.Parallel()
	say := func(words string) string {
		return `update {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + strconv.Quote(words) + `}}`
	}
	const (
		mark  = `update {"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}`
		noKey = "Error: Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY."
	)
	called := []string{"tool c1 ls", "done c1 x"}
	for name, tt := range map[string]struct {
		words []string
		want  string // an API error's type, login, limit, or none
	}{
		"codex-acp 2.6, 429": {[]string{say("Warning: Model metadata for `s` not found. Defaulting.\n\n"), mark,
			say("exceeded retry limit, last status: 429 Too Many Requests\n\n")}, "rate_limit"},
		"codex-acp 2.6, words of no table": {[]string{mark, say("The gizmo is out of order.\n\n")}, "unknown"},
		"codex-acp 2.6, behind a call": {append(called, mark,
			say("Selected model is at capacity. Try another.\n\n")), "overloaded"},
		"copilot, 503": {[]string{say("Info: Request failed due to a transient API error. Retrying..."),
			say("Error: Failed to get response from the AI model; retried 5 times (total retry wait time: 15.42 seconds) Last error: 503 busy")}, "server_error"},
		"copilot, 401":           {[]string{say(noKey)}, "login"},
		"copilot, behind a call": {append(called, say(`Error: 402 {"code":"quota_exceeded"}`)), "limit"},
		"claude, session limit": {append(called,
			say("You've hit your session limit · resets 6:50am (UTC)")), "limit"},
		"a model, in pieces": {append(called, say("You've hit your"),
			say(" session limit, says the page.")), "none"},
		"a model, before its call": {append([]string{say("Error: 429 is what I look for.")},
			append(called, say("All is well."))...), "none"},
		"a model, of a status of its": {[]string{say("Error: 404 pages have a template now.")}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, life{Prompts: [][]string{append(tt.words, "end end_turn")}})
			_, err := r.turn(t)
			got := "none"
			var api *agent.APIError
			var limit *agent.LimitError
			var login *agent.LoginError
			switch {
			case errors.As(err, &api):
				got = api.Type
			case errors.As(err, &limit):
				got = "limit"
			case errors.As(err, &login):
				got = "login"
			}
			if got != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}
