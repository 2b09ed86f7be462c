// Package builtin is covey's own agent: a loop around an agent.Model, and the tool
// Agent with its helpers.
//
// The Agent manages only the conversation. Its model may be an API or a script.
// Every tool call goes to the Host, which applies hooks and permissions. The
// workspace tools are in package tools.
//
// # A turn
//
// Run adds the prompt to the conversation and then repeats: Host.Pass, which counts the request
// against the limits and returns mail that has arrived; a request to the model; the calls of the
// answer, whose results are one message for the model. It ends with an answer without calls.
// Each message is recorded as soon as it exists, so a crash loses no result of a finished call.
//
// Every call of an answer gets exactly one result, whatever happens: calls that a limit, an
// interrupt or a broken record kept from running are reported as such. Read-only calls that
// follow each other run at the same time, and their results keep the order of the calls.
//
// # After a crash
//
// New continues a conversation from its transcript. Resume runs again, of the calls without a
// result, those that are safe to repeat: calls of team tools, which the store knows by their ids,
// of read-only tools, and those that were waiting for permission. All others may have done a part
// of their work; the model is told so and decides.
//
// # A conversation that becomes too long
//
// compact.go keeps the conversation below what the model can read, in four layers: old results are
// left out, a summary takes the place of the conversation, an overflow that the provider reports
// does both at once, and in the end no request is made. After a gate has refused the end of a
// turn, an overflow leads to one summary and no more: each refusal makes the conversation longer,
// and without this guard the agent would summarize and be refused for ever.
//
// # A model that cannot answer
//
// fallback.go lets the next of the agent's models answer the rest of the turn, if hooks agree. A
// model never sees the thinking of another.
package builtin
