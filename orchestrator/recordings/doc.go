// Package recordings keeps what the models of a team were asked and what they answered, and answers
// from it later, without a vendor.
//
// A recording is a folder with one file for each member, its lane. The file has lines of JSON: each
// request, in the order in which the requests were made, with the events of its answer as they came.
// Secrets are masked and paths of this machine have names before a line is written, so that recordings
// can be committed.
//
// # What a request means
//
// A request is found by what it means: its API, its model, and its texts with their roles, the names of
// called tools and their results. In texts, what differs from run to run is made equal first: ids,
// hashes, dates, times, ports, and the paths of working copies and of covey's own files. What a request
// holds besides, such as the schemas of tools, headers and numbers of tokens, does not count. Requests
// with one meaning are answered in their order; after the last of them, that is answered again.
//
// Answers come in the order in which they came, also between members. So do acts: what a member did to the tasks
// that all share, such as claims.
//
// A Tape belongs to one run, which records or replays. A Lane is put between a model and those who ask
// it: as an HTTP transport, or as an agent.Model for models without HTTP. A nil Tape and a nil Lane do
// nothing.
package recordings
