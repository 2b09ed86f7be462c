// Package replica keeps a team's store, its long texts and its journal on servers of NATS
// JetStream, so that another host can continue the team.
//
// A stream holds the records of all commits, and is the truth; the file of the store is a copy.
// One process writes, the coordinator. Each of its messages states the number of the message that
// it must follow, so the servers refuse a coordinator after which another one has begun: that one
// has begun with a message of its own, its epoch, which took a number. A new coordinator makes its
// file from the last snapshot and all commits up to its epoch.
package replica
