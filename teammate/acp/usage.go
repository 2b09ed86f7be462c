package acp

import (
	"encoding/json"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// UsageSource is where a program reports its token usage.
type UsageSource int

// The sources. Programs that report nothing are UsageUnknown.
const (
	UsagePerPrompt  UsageSource = iota // usage in the answer to a prompt, of that prompt: claude, codex-acp 2
	UsageUnknown                       // nowhere: zed's codex-acp
	UsageQuota                         // _meta.quota in the answer: gemini
	UsageChunks                        // _meta.usage of message chunks, once for each model call: qwen
	UsageCumulative                    // usage in the answer, since the program began: copilot
	UsageLastCall                      // usage in the answer, of the last model call only: opencode; too low
)

// meter counts the usage of a session's prompts.
type meter struct {
	source UsageSource
	before agent.Usage // for cumulative programs: up to the previous prompt

	spent program.Spent // by the running prompt
	cost  float64
}

// begin starts a prompt.
func (m *meter) begin() { m.spent = program.Spent{} }

// update adds the usage in an update, and reports whether there was any.
func (m *meter) update(u update) bool {
	if u.Kind == "usage_update" {
		m.spent.Context = agent.ContextUse{Tokens: u.Used, Window: u.Size}
		if u.Cost.Amount > 0 {
			m.cost = u.Cost.Amount
		}
		return true
	}
	if m.source != UsageChunks {
		return false
	}
	used, ok := tokensIn(program.Fields(u.Meta)["usage"])
	if ok {
		m.spent.Usage = m.spent.Usage.Plus(used)
		m.spent.Known = true
	}
	return ok
}

// soFar returns the known usage of the running prompt.
func (m *meter) soFar() program.Spent {
	s := m.spent
	s.CostUSD = m.cost
	return s
}

// end returns the usage of the prompt, with the usage in its answer. result may be nil for a
// prompt without an answer; usage from chunks still counts. Call it once for each begin.
func (m *meter) end(result json.RawMessage) program.Spent {
	fields := program.Fields(result)
	meta := program.Fields(fields["_meta"])
	m.spent.CostUSD = m.cost
	switch m.source {
	case UsagePerPrompt, UsageLastCall:
		m.setUsage(fields["usage"])
	case UsageCumulative:
		m.setUsage(fields["usage"])
		if !m.spent.Known {
			m.setUsage(meta["usage"])
		}
		total := m.spent.Usage
		m.spent.Usage = total.Less(m.before)
		// After a prompt without usage the next one must not count the whole total again.
		if m.spent.Known {
			m.before = total
		}
	case UsageQuota:
		quota := program.Fields(meta["quota"])
		m.setUsage(quota["token_count"])
		if !m.spent.Known {
			m.setUsage(meta["quota"])
		}
	}
	return m.spent
}

// setUsage sets the usage of the prompt. An object without token counts leaves it unknown
// rather than zero.
func (m *meter) setUsage(raw json.RawMessage) {
	if used, ok := tokensIn(raw); ok {
		m.spent.Usage, m.spent.Known = used, true
	}
}

// tokensIn reads token counts under any of the names in use. Cached and thought tokens count:
// if there is a total, everything but output is input. Programs disagree on whether thoughts
// are part of the output. The total decides: if it exceeds input and output by the thoughts,
// they are not.
func tokensIn(raw json.RawMessage) (agent.Usage, bool) {
	fields := program.Fields(raw)
	in, inOK := number(fields, "inputTokens", "input_tokens", "promptTokens", "prompt_tokens",
		"promptTokenCount")
	out, outOK := number(fields, "outputTokens", "output_tokens", "completionTokens", "completion_tokens",
		"candidatesTokenCount")
	if !inOK && !outOK {
		return agent.Usage{}, false
	}
	read, _ := number(fields, "cachedReadTokens", "cached_read_tokens", "cachedInputTokens", "cached_input_tokens",
		"cachedContentTokenCount")
	written, _ := number(fields, "cachedWriteTokens", "cached_write_tokens")
	thought, _ := number(fields, "thoughtTokens", "thought_tokens", "thoughtsTokenCount")
	total, ok := number(fields, "totalTokens", "total_tokens", "totalTokenCount")
	if ok && total >= in+out {
		if rest := total - out; rest-thought >= in {
			return withCache(rest-thought, out+thought, read, written), true
		}
		return withCache(total-out, out, read, written), true
	}
	return withCache(in, out, read, written), true
}

// withCache returns a usage whose cached tokens are part of the input. If a program counts
// them separately and reports no total, the excess is dropped, because a part cannot exceed
// the whole.
func withCache(in, out, read, written int64) agent.Usage {
	read = min(read, in)
	return agent.Usage{
		InputTokens: in, OutputTokens: out, CacheReadTokens: read, CacheWriteTokens: min(written, in-read),
	}
}

// number returns the first of the named fields that holds a count.
func number(fields map[string]json.RawMessage, names ...string) (int64, bool) {
	for _, name := range names {
		var n float64
		raw := fields[name]
		if raw != nil && !program.IsNull(raw) && json.Unmarshal(raw, &n) == nil && n >= 0 && n < 1e15 {
			return int64(n), true
		}
	}
	return 0, false
}
