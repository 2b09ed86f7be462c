// Package api is the protocol between a command, such as covey ps, and a running
// team: the verbs that a team answers, their requests and replies, and the errors
// that keep their identity on the way. A command uses Dial and a Client; the team
// uses Serve.
//
// A Verb declares a verb's name, request, reply, and who may send it. It is in
// one file with its types and its method of Client. The team's handlers are in
// orchestrator/handlers.go.
//
// Programs that embed covey may use Dial, Client, and the types of its methods.
// The rest may change.
package api
