package script

import (
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// servedID matches the tool call ids that content makes. Gemini puts the tool's
// name before them.
var servedID = texts.Pattern(`(?:^|_)toolu_(\d{1,9})_(\d{1,9})_(\d{1,9})$`)

// replay determines from a conversation how often each step has served in it, and
// from which message on it is new. It needs no state: a pass takes the first step
// that may serve, so an answer of a later step proves that the earlier steps that
// matched were used up. This includes steps with errors, which leave no trace in a
// conversation. fresh is the index after the last answer of this script. If an
// agent drops the beginning of a conversation, the steps in it may serve again
// unless a later answer proves that they were used.
func (s *Script) replay(messages []agent.Message) (served map[int]int, fresh int) {
	served = map[int]int{}
	for i, m := range messages {
		if m.Role != agent.Assistant {
			continue
		}
		texts := newTexts(agent.Request{Messages: messages[:i], New: fresh})
		step, nth := s.stepOf(m, served, texts)
		if step < 0 {
			continue // not from this script: some agents insert assistant messages
		}
		for earlier, e := range s.steps[:step] {
			if e.times >= 0 && (e.when == nil || matchAny(e.when, texts)) {
				served[earlier] = max(served[earlier], e.times)
			}
		}
		served[step] = max(served[step], nth+1)
		fresh = i + 1
	}
	return served, fresh
}

// stepOf returns the step that gave the answer m and how often it had served
// before, or -1 if there is none. It uses the ids of tool calls, which most agents
// keep; without them it compares the text and the names of the tools.
func (s *Script) stepOf(m agent.Message, served map[int]int, texts []string) (step, nth int) {
	for _, c := range m.ToolCalls() {
		if step, nth, ok := s.byID(c.ID); ok {
			return step, nth
		}
	}
	found := -1
	for i, st := range s.steps {
		if !st.matches(m) || st.times >= 0 && served[i] >= st.times {
			continue
		}
		if st.when == nil || matchAny(st.when, texts) {
			return i, served[i]
		}
		if found < 0 {
			found = i // its `when` may have matched a text that the agent has dropped since
		}
	}
	return found, served[found]
}

// byID parses a tool call's id. ok is false if the id is not from a script, or from
// a script that was edited since. The number of digits is limited, so that no id
// overflows an int.
func (s *Script) byID(id string) (step, nth int, ok bool) {
	m := servedID().FindStringSubmatch(id)
	if m == nil {
		return 0, 0, false
	}
	step, _ = strconv.Atoi(m[1]) // nine digits at most
	nth, _ = strconv.Atoi(m[2])
	k, _ := strconv.Atoi(m[3])
	return step, nth, step < len(s.steps) && k < len(s.steps[step].calls)
}

// matches reports whether m may be an answer of the step. Text is compared without
// surrounding white space, which agents trim. Inputs of calls are not compared,
// because agents rewrite them.
func (s step) matches(m agent.Message) bool {
	calls := m.ToolCalls()
	if s.fail != nil || len(calls) != len(s.calls) || m.Text() != strings.TrimSpace(s.say) {
		return false
	}
	for i, c := range s.calls {
		if !fits(c.tool, calls[i].Name) {
			return false
		}
	}
	return true
}
