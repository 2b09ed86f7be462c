package teammate

import "errors"

// ErrHalted is wrapped by the error of Teammate.Run when a hook has stopped the
// member for good: continue:false of TaskCompleted or TeammateIdle. Its text
// holds the hook's reason. Such a member is not to be started again by itself.
var ErrHalted = errors.New("halted by a hook")

// ErrResting is what an Inbox may answer with in Next when it has nothing for its member
// and calls Run again by itself: a member at rest then costs no goroutine. It is neither
// wrapped nor told to anybody.
var ErrResting = errors.New("the member rests until Run is called again")

// ErrAnew is what an Inbox may answer with in Next, in place of io.EOF, when another Teammate
// goes on with the member's session: SessionEnd hooks read the reason resume then.
var ErrAnew = errors.New("the session goes on in another Teammate")
