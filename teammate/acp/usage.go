package acp

import (
	"encoding/json"

	"github.com/coveyteam/covey/teammate/agent"
)

// UsageSource is where a program tells how many tokens it has used.
type UsageSource int

// The places. Programs that tell nothing of use are UsageUnknown.
const (
	UsagePerPrompt  UsageSource = iota // usage in the answer to a prompt, of that prompt: claude, codex-acp 2
	UsageUnknown                       // nowhere: zed's codex-acp
	UsageQuota                         // _meta.quota in the answer: gemini
	UsageChunks                        // _meta.usage of message chunks, once for each model call: qwen
	UsageCumulative                    // usage in the answer, since the program began: copilot
	UsageLastCall                      // usage in the answer, of the last model call: opencode; too little
)

// meter counts what one session's prompts use.
type meter struct {
	source UsageSource
	before agent.Usage // cumulative programs: up to the prompt before

	spent Spent // by the prompt that runs
	cost  float64
}

// begin starts a prompt.
func (m *meter) begin() { m.spent = Spent{} }

// update takes in what an update tells, and reports whether it told anything.
func (m *meter) update(u update) bool {
	if u.Kind == "usage_update" {
		m.spent.ContextUsed, m.spent.ContextSize = u.Used, u.Size
		if u.Cost.Amount > 0 {
			m.cost = u.Cost.Amount
		}
		return true
	}
	if m.source != UsageChunks {
		return false
	}
	used, ok := tokensIn(fieldsOf(u.Meta)["usage"])
	if ok {
		m.spent.Usage = m.spent.Usage.Plus(used)
		m.spent.Known = true
	}
	return ok
}

// soFar is what the prompt that runs is known to have used.
func (m *meter) soFar() Spent {
	s := m.spent
	s.CostUSD = m.cost
	return s
}

// end takes in the answer to the prompt and returns what the prompt has used.
// result may be nil, for a prompt that was never answered: what its chunks told
// until then still counts. Called once for each begin.
func (m *meter) end(result json.RawMessage) Spent {
	fields := fieldsOf(result)
	meta := fieldsOf(fields["_meta"])
	m.spent.CostUSD = m.cost
	switch m.source {
	case UsagePerPrompt, UsageLastCall:
		m.take(fields["usage"])
	case UsageCumulative:
		m.take(fields["usage"])
		if !m.spent.Known {
			m.take(meta["usage"])
		}
		total := m.spent.Usage
		m.spent.Usage = total.Less(m.before)
		// A prompt that tells nothing must not make the next one cost all again.
		if m.spent.Known {
			m.before = total
		}
	case UsageQuota:
		quota := fieldsOf(meta["quota"])
		m.take(quota["token_count"])
		if !m.spent.Known {
			m.take(meta["quota"])
		}
	}
	return m.spent
}

// take sets what the prompt has used; an object that counts no tokens leaves it
// unknown rather than zero.
func (m *meter) take(raw json.RawMessage) {
	if used, ok := tokensIn(raw); ok {
		m.spent.Usage, m.spent.Known = used, true
	}
}

// tokensIn reads an object that counts tokens, by any of the names that are in
// use. Cached and thought tokens count: where there is a total, what is not
// output of it is input. Programs disagree whether thoughts are part of the
// output. The total settles it: if there is room for them beside input and
// output, they were not.
func tokensIn(raw json.RawMessage) (agent.Usage, bool) {
	fields := fieldsOf(raw)
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

// withCache is a count of which parts of the input had to do with a cache. A
// program that counts them beside its input, and tells no total, has them left
// out: what is a part cannot be more than the whole.
func withCache(in, out, read, written int64) agent.Usage {
	read = min(read, in)
	return agent.Usage{
		InputTokens: in, OutputTokens: out, CacheReadTokens: read, CacheWriteTokens: min(written, in-read),
	}
}

// number is the first of the named fields that holds a count.
func number(fields map[string]json.RawMessage, names ...string) (int64, bool) {
	for _, name := range names {
		var n float64
		raw := fields[name]
		if raw != nil && !isNull(raw) && json.Unmarshal(raw, &n) == nil && n >= 0 && n < 1e15 {
			return int64(n), true
		}
	}
	return 0, false
}
