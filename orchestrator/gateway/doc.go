// Package gateway passes the requests of agent programs to their models: one listener on loopback for each
// member, for Anthropic Messages, OpenAI Responses, Chat Completions and Gemini's generateContent.
//
// The key of the vendor stays here. A program has a token, which counts only from a process of its
// member. Requests and answers pass through byte for byte, as they come; nothing waits for the end of
// one. Before a request leaves, the gateway checks the member's limits and the team's budget, the list
// of allowed models, and whether the vendor has asked the login to wait. Behind an answer it counts what
// the vendor says was used, whatever the program reports of it.
//
// What keeps a program from its model is known here and not in the program, so a turn gets its error
// from here (Door.Watch).
package gateway
