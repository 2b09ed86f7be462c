package acp

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestFailure(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		code       int
		text, data string
		want       string // an API error's type, "login", "limit" or "lost"
	}{
		{-32000, "Authentication required", "", "login"},
		{-32603, "Internal error", `"Invalid API key. Please run /login"`, "login"},
		{-32603, "Internal error", `{"message":"unexpected status 401 Unauthorized"}`, "login"},
		{-32603, "Internal error", `{"codexErrorInfo":"usageLimitExceeded","message":"You've hit your usage limit."}`, "limit"},
		{-32603, "exceeded your current quota", `{"error":{"type":"insufficient_quota"}}`, "limit"},
		{-32603, "Quota exceeded for requests per minute, please retry in 30s", "", "rate_limit"},
		{429, "Rate limit reached for requests", "", "rate_limit"},
		{-32603, "429 Too Many Requests", "", "rate_limit"},
		{-32603, "Internal error", `{"errorKind":"overloaded","message":"Overloaded"}`, "overloaded"},
		{-32603, "Your credit balance is too low", "", "billing_error"},
		{-32603, "The model gpt-x does not exist", "", "model_not_found"},
		{-32603, "prompt is too long: 250000 tokens", "", "invalid_request"},
		{-32603, "stream disconnected before completion", "", "server_error"},
		{-32603, "502 Bad Gateway", "", "server_error"},
		{-32002, "Resource not found", "", "lost"},
		{-32603, "Session not found: s1", "", "lost"},
		{-1, "strange", "", "unknown"},
	} {
		err := failure(&rpcError{Code: tt.code, Message: tt.text, Data: json.RawMessage(tt.data)}, now)
		var api *agent.APIError
		var login *agent.LoginError
		var limit *agent.LimitError
		got := "?"
		switch {
		case errors.As(err, &api):
			got = api.Type
		case errors.As(err, &login):
			got = "login"
		case errors.As(err, &limit):
			got = "limit"
		case errors.Is(err, errLost):
			got = "lost"
		}
		if got != tt.want {
			t.Errorf("%s %s: %s (%v), want %s", tt.text, tt.data, got, err, tt.want)
		}
	}
}

// TestErrorText: people read what went wrong, and no JSON beside words that say it.
func TestErrorText(t *testing.T) {
	for _, tt := range []struct{ text, data, want string }{
		{"Cannot connect to API", `{"service":"session","errorName":"APIError"}`, "Cannot connect to API"},
		{"Internal error: Cannot connect", `{"service":"session"}`, "Internal error: Cannot connect"},
		{"Internal error", `{"service":"session"}`, `Internal error: {"service":"session"}`},
		{"Internal error", `{"details":"no such model"}`, "Internal error: no such model"},
		{"", `{"errorName":"APIError"}`, `error without a message: {"errorName":"APIError"}`},
		{"Failed", `"because"`, "Failed: because"},
		{"Failed", `[1]`, "Failed: [1]"},
		{"Failed", `null`, "Failed"},
	} {
		if got := (&rpcError{Message: tt.text, Data: json.RawMessage(tt.data)}).Error(); got != tt.want {
			t.Errorf("%q %s: %q, want %q", tt.text, tt.data, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		source  UsageSource
		updates []string
		results []string
		want    []agent.Usage
		known   bool
	}{
		{"claude", UsagePerPrompt, nil,
			[]string{`{"usage":{"inputTokens":3,"outputTokens":7,"cachedReadTokens":90,"totalTokens":100}}`}, []agent.Usage{{InputTokens: 93, OutputTokens: 7, CacheReadTokens: 90}}, true},
		{"thoughts", UsagePerPrompt, nil,
			[]string{`{"usage":{"inputTokens":80,"outputTokens":7,"thoughtTokens":13,"totalTokens":100}}`}, []agent.Usage{{InputTokens: 80, OutputTokens: 20}}, true},
		{"nothing", UsagePerPrompt, nil, []string{`{"stopReason":"end_turn","usage":null}`},
			[]agent.Usage{{}}, false},
		{"gemini", UsageQuota, nil,
			[]string{`{"_meta":{"quota":{"token_count":{"input_tokens":5,"output_tokens":2}}}}`}, []agent.Usage{{InputTokens: 5, OutputTokens: 2}}, true},
		{"qwen", UsageChunks, []string{
			`{"sessionUpdate":"agent_message_chunk","_meta":{"usage":{"inputTokens":5,"outputTokens":2}}}`,
			`{"sessionUpdate":"agent_message_chunk","_meta":{"usage":{"promptTokens":6,"completion_tokens":1}}}`,
		}, []string{`{}`}, []agent.Usage{{InputTokens: 11, OutputTokens: 3}}, true},
		{"copilot", UsageCumulative, nil, []string{
			`{"usage":{"inputTokens":5,"outputTokens":2}}`, `{"usage":{"inputTokens":9,"outputTokens":3}}`, `{"_meta":{"usage":{"inputTokens":9,"outputTokens":4}}}`,
		}, []agent.Usage{{InputTokens: 5, OutputTokens: 2}, {InputTokens: 4,
			OutputTokens: 1}, {OutputTokens: 1}}, true},
		{"zed", UsageUnknown, []string{`{"sessionUpdate":"usage_update","used":10,"size":100}`},
			[]string{`{"usage":{"inputTokens":5,"outputTokens":2}}`}, []agent.Usage{{}}, false},
	} {
		m := meter{source: tt.source}
		for i, result := range tt.results {
			m.begin()
			for _, raw := range tt.updates {
				var u update
				if err := json.Unmarshal([]byte(raw), &u); err != nil {
					t.Fatal(err)
				}
				m.update(u)
			}
			spent := m.end(json.RawMessage(result))
			if spent.Usage != tt.want[i] || spent.Known != tt.known {
				t.Errorf("%s: %+v, want %+v", tt.name, spent, tt.want[i])
			}
			if tt.source == UsageUnknown && spent.Context != (agent.ContextUse{Tokens: 10, Window: 100}) {
				t.Errorf("context %+v", spent)
			}
		}
	}
}
