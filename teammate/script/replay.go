package script

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// servedID is the form of the ids that content gives to tool calls. Gemini puts
// the tool's name before them.
var servedID = regexp.MustCompile(`(?:^|_)toolu_(\d{1,9})_(\d{1,9})_(\d{1,9})$`)

// replay finds out from a conversation how often each step has served in it,
// and from which message on it is new. It needs no memory of its own: a pass
// takes the first step that may serve, so an answer of a later step proves that
// the earlier ones that would have suited were used up, errors included,
// although those leave no trace in a conversation. fresh is the message behind
// the last answer of ours. What agents cut away from the head of a conversation
// is forgotten here, too: its steps may serve again unless a later answer
// proves them used.
func (s *Script) replay(messages []agent.Message) (served map[int]int, fresh int) {
	served = map[int]int{}
	for i, m := range messages {
		if m.Role != agent.Assistant {
			continue
		}
		texts := news(agent.Request{Messages: messages[:i], New: fresh})
		step, nth := s.stepOf(m, served, texts)
		if step < 0 {
			continue // not ours: some agents put words into the model's mouth
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

// stepOf is the step that gave the answer m, and how often it had served before;
// -1 if none did. Most agents keep the ids of tool calls, and these say it. Else
// the answer itself must: its text and the tools that it calls.
func (s *Script) stepOf(m agent.Message, served map[int]int, texts []string) (step, nth int) {
	for _, c := range m.ToolCalls() {
		if step, nth, ok := s.byID(c.ID); ok {
			return step, nth
		}
	}
	found := -1
	for i, st := range s.steps {
		if !st.gave(m) || st.times >= 0 && served[i] >= st.times {
			continue
		}
		if st.when == nil || matchAny(st.when, texts) {
			return i, served[i]
		}
		if found < 0 {
			found = i // its `when` may have been found in a text that the agent has dropped since
		}
	}
	return found, served[found]
}

// byID reads a tool call's id. false means that the id is not ours, or of a
// script that was edited since. The digits are bounded, so no id can make a
// number overflow.
func (s *Script) byID(id string) (step, nth int, ok bool) {
	m := servedID.FindStringSubmatch(id)
	if m == nil {
		return 0, 0, false
	}
	step, _ = strconv.Atoi(m[1]) // nine digits at most
	nth, _ = strconv.Atoi(m[2])
	k, _ := strconv.Atoi(m[3])
	return step, nth, step < len(s.steps) && k < len(s.steps[step].calls)
}

// gave reports whether m may be an answer of the step. Text is compared without
// the white space around it, which agents trim. Inputs of calls are not
// compared: agents rewrite them.
func (s step) gave(m agent.Message) bool {
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
