package agent

import (
	"slices"
	"strings"
)

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
