// Package bus carries what is committed to the parts of a running team that wait for it:
// mail with its content, changes of tasks, and the growth of the journal. It also carries
// the requests of the covey commands that reach the team from outside. It is a NATS server
// inside the process, without a TCP listener.
//
// Inside the process all parts share one connection. Connections from outside come in
// through a unix socket (Listen, Dial). The receiver gives each one an identity and
// credentials that allow three things: to publish requests under that identity's own
// subject, to listen to its own inbox, and to the growth of the journal. The operator's
// may also listen to mail and tasks (OnMail, OnTask). A handler (Handle) takes the caller
// from the subject that the server enforced, never from the message, and answers only into
// the caller's own inbox.
//
// The subjects of a team are covey.TEAM.mail.MEMBER, covey.TEAM.tasks, covey.TEAM.journal
// and, for requests, covey.TEAM.ctl.KIND.NAME.PID.CONNECTION.VERB.
//
// The bus stores nothing. What is published is delivered once to each subscriber that is
// connected at that moment, in the order of publication, or it is lost: to a subscriber
// that is too slow, or whose connection ends. So the store stays the truth, and a receiver
// that may have lost something reads the store. Queues are bounded; drops are reported to
// Options.OnError and to the subscriber.
//
// The servers of a team that outlives its host are configured here, too (ServerConfig), and
// StartTrial runs three of them in this process.
//
// The package knows neither members nor tasks: their content is bytes to it. Callers must
// keep callbacks short, and must call Close.
package bus
