package teammate

import "errors"

// ErrHalted is wrapped by the error of Teammate.Run when a hook has stopped the
// member for good: continue:false of TaskCompleted or TeammateIdle. The error text
// holds the hook's reason. Do not restart such a member automatically.
var ErrHalted = errors.New("halted by a hook")

// ErrResting may be returned by Inbox.Next when there is no work and the owner of the
// inbox calls Run again later; a resting member then needs no goroutine. It is neither
// wrapped nor reported.
var ErrResting = errors.New("the member rests until Run is called again")

// ErrContinued may be returned by Inbox.Next in place of io.EOF when another Teammate
// continues the session: SessionEnd hooks then get the reason resume.
var ErrContinued = errors.New("the session goes on in another Teammate")
