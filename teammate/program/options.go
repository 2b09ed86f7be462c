package program

import (
	"context"
	"errors"
	"time"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Options configure an agent that is a program, however one talks to it. Command and Dir are required.
type Options struct {
	Command []string // the program and its arguments
	Env     []string // its complete environment; only COVEY_PROGRAM is added, which marks its descendants
	Dir     string   // absolute; the directory of the program and its session
	// Box is what limits the program and its descendants; nil: nothing.
	Box *sandbox.Box
	// Enter waits before each start until the program may start. leave is called when the program
	// has a session, or has ended without one. An error ends the Run. nil: no wait.
	Enter func(ctx context.Context) (leave func(opened bool), err error)
	// System returns the system prompt of a new session. nil: none.
	System func() string
	// Session is the id that OnSession got in an earlier run; empty: none.
	Session string
	// OnSession is called with the id of each new session, before the program works in it. Its
	// error ends the Run.
	OnSession func(id string) error
	// Brief returns a summary of the conversation, for a program that does not know it because its
	// session was lost. nil: no summary.
	Brief func() string
	// History is the content of the transcript, for Resume.
	History transcript.History
	// Started is called with the pid of each program that was started. It returns what is called
	// when that program has ended. It may be nil.
	Started func(pid int) (release func())
	// OnUsage is called with the usage of each prompt. It may be nil.
	OnUsage func(Spent)
	// Watch watches the program's model requests during a prompt, and counts them: what the program reports of
	// its use does not count then. verdict returns the error of the prompt, given that of the program. nil:
	// nobody watches them.
	Watch func(ctx context.Context) (watched context.Context, verdict func(error) error)
	// Clock is the time of day; nil: time.Now.
	Clock func() time.Time
	// Alarm times prompts; nil: NewAlarm.
	Alarm func(time.Duration) Alarm
	// Restarts is how often in a row a program that dies is started again before its member fails;
	// 0: 3; negative: never.
	Restarts int
	// Backoff is the pause before the first restart. It doubles with each restart, up to 20 times.
	// 0: 500 ms.
	Backoff time.Duration
}

// Spent is the usage of one prompt, as far as the program reports it.
type Spent struct {
	Usage   agent.Usage
	Known   bool    // Usage is known
	CostUSD float64 // since the session began; 0: unknown
	Context agent.ContextUse
}

// Counted returns what counts of what a program has reported.
func (o *Options) Counted(reported Spent) Spent {
	if o.Watch == nil {
		return reported
	}
	return Spent{Known: true, Context: reported.Context}
}

// Watched returns ask, watched by Watch.
func (o *Options) Watched(ask Ask) Ask {
	if o.Watch == nil {
		return ask
	}
	return func(ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply) ([]agent.Input, error) {
		watched, verdict := o.Watch(ctx)
		later, err := ask(watched, inputs, h, reply)
		return later, verdict(err)
	}
}

// Complete sets defaults, and reports what is missing.
func (o *Options) Complete() error {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return errors.New("no command given")
	}
	if o.Dir == "" {
		return errors.New("no working directory given")
	}
	if o.Enter == nil {
		o.Enter = func(context.Context) (func(bool), error) { return func(bool) {}, nil }
	}
	if o.System == nil {
		o.System = func() string { return "" }
	}
	if o.OnSession == nil {
		o.OnSession = func(string) error { return nil }
	}
	if o.Brief == nil {
		o.Brief = func() string { return "" }
	}
	if o.OnUsage == nil {
		o.OnUsage = func(Spent) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Alarm == nil {
		o.Alarm = NewAlarm
	}
	if o.Restarts == 0 {
		o.Restarts = 3
	}
	DefaultTimes(map[*time.Duration]time.Duration{&o.Backoff: 500 * time.Millisecond})
	return nil
}
