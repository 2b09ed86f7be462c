// Package notices tells people outside of covey what a team needs of them and what has
// happened, by the rules in the section `notify` of the spec: on the desktop, through a
// command, or to a webhook.
//
// What is open (questions, approvals, members that need attention, held merges) is read from
// the store whenever it may have changed, and again right before it is sent. So nothing is sent
// that was answered before, and a restart forgets nothing. What has happened (refusals,
// completed tasks, limits, the end of a run) comes from the lines of the journal, and waits in
// the store until it is sent.
//
// # Delivery
//
// Each rule has at most one notice on its way, so a slow target delays no other one. What comes
// meanwhile waits, and goes with the next notice. A notice that could not be delivered is tried
// again after growing pauses, without what was answered since and with what came since. When
// that has failed for too long, it is given up with one warning.
//
// The store keeps what each rule has sent. A notice whose target took it just before covey was
// killed is sent once more by the next run. A rule that is changed in the spec counts as new.
//
// # Links that answer
//
// A notice to a webhook has links if the spec names the address of the web page. A link holds
// a random token. The store keeps only its hash, with the request, its content and the time
// until which it counts; so nobody can make a link from the team's files. A link is good for
// one answer to one request, as it was when the notice was sent.
//
// The API is for covey only and may change.
package notices
