// Package api is the wire between a command, such as covey ps, and a running team: the verbs that a
// team answers, their requests and replies, and the errors that keep their kind on the way. A command
// asks by Dial and a Client; the team answers by Serve.
//
// Each verb is one row, a Verb: its name, what is sent, what comes back, and who may send it. The
// row stands in one file with its types and its method of Client; the team's handler is a row of
// orchestrator/handlers.go.
//
// Programs that embed covey use Dial, Client, and what its methods take and give; the rest makes no
// promise of compatibility.
package api
