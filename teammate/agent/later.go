package agent

import (
	"slices"
	"strings"
	"sync"
)

// Later holds what background hooks have for the model until its next request. The zero value
// is ready to use. It is safe for concurrent use.
type Later struct {
	mu     sync.Mutex
	inputs []Input
}

// Add appends one input.
func (l *Later) Add(in Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, in)
}

// Drain removes and returns all inputs.
func (l *Later) Drain() []Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.inputs
	l.inputs = nil
	return taken
}

// ContextInputs returns texts of hooks as inputs of kind FromContext.
func ContextInputs(texts []string) []Input {
	var ins []Input
	for _, text := range texts {
		ins = append(ins, Input{Kind: FromContext, Text: text})
	}
	return ins
}

// Texts returns the texts of inputs.
func Texts(inputs []Input) []string {
	all := make([]string, len(inputs))
	for i, in := range inputs {
		all[i] = in.Text
	}
	return all
}

// PromptText returns a prompt in the form that people read.
func PromptText(inputs []Input) string { return strings.Join(Texts(inputs), "\n\n") }

// MessageIDs returns the ids of those inputs that have one.
func MessageIDs(inputs []Input) []string {
	var all []string
	for _, in := range inputs {
		if in.MessageID != "" {
			all = append(all, in.MessageID)
		}
	}
	return all
}

// Without returns inputs without those in done, each removed once. Two inputs are the same
// if their ids are equal or, without ids, if all fields are.
func Without(inputs, done []Input) []Input {
	rest := slices.Clone(inputs)
	for _, d := range done {
		same := func(in Input) bool { return in == d || in.MessageID != "" && in.MessageID == d.MessageID }
		if i := slices.IndexFunc(rest, same); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return rest
}

// Meter counts tokens used for a member outside its own messages: by its helpers and its hooks.
// The zero value is ready to use. It is safe for concurrent use.
type Meter struct {
	mu   sync.Mutex
	owed Usage   // not yet reported by a turn
	usd  float64 // what that cost, where a price was known
}

// Add counts the tokens of one model request, and their cost.
func (m *Meter) Add(u Usage, usd float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed, m.usd = m.owed.Plus(u), m.usd+usd
}

// Drain returns the tokens that no turn has reported yet, and their cost, and resets both.
func (m *Meter) Drain() (Usage, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed, usd := m.owed, m.usd
	m.owed, m.usd = Usage{}, 0
	return owed, usd
}
