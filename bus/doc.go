// Package bus carries messages between the parts of a running team, and between the team
// and the covey commands that reach it from outside. It is a NATS server inside the
// process, without a TCP listener.
//
// Inside the process all parts share one connection. They publish and subscribe with the
// typed functions Publish, Subscribe, Respond and Request, on subjects made by the
// functions of subject.go. Connections from outside come in through a unix socket
// (Listen, Dial). The receiver gives each one an identity and credentials that allow two
// things: to publish requests under that identity's own subject, and to listen to its own
// inbox and to the growth of the journal. A handler (Handle) takes the caller from the
// subject that the server enforced, never from the message, and answers only into the
// caller's own inbox.
//
// The bus stores nothing: the store holds what must not be lost, and the bus wakes its
// readers. Queues are bounded. Drops are reported to Options.OnError and to the
// subscription that they were meant for.
//
// The package knows neither members nor tasks. Callers must keep callbacks short, and
// must call Close.
package bus
