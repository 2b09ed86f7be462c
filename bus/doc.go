// Package bus carries messages between the parts of a running team, and
// between the team and the covey commands that reach it from outside. It is a
// NATS server inside the process, with no listener on TCP.
//
// Inside the process everybody shares one connection: publish and subscribe
// through the typed functions Publish, Subscribe, Respond and Request, on
// subjects made by the functions of subject.go. From outside one comes in
// through a unix socket (Listen, Dial). There each connection is given an
// identity by the receiver and credentials that allow two things: to publish
// requests under that identity's own subject, and to listen to its own inbox
// and to the news that the journal grew. A receiver (Handle) takes who asks
// from the subject that the server enforced, never from the message, and
// answers only into the caller's own inbox.
//
// The bus keeps nothing: what must not be lost is in the store, and the bus
// wakes those who look there. Queues are bounded. What did not fit is told to
// Options.OnError and to the subscription it was meant for.
//
// The package knows neither members nor tasks. A caller owes it two things:
// callbacks that return soon, and a Close.
package bus
