package acp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// errCrash is wrapped by what goes wrong with the program itself: it may be
// started again.
var errCrash = errors.New("the agent program failed")

// errLost says that the program does not know its session any more.
var errLost = errors.New("the agent program has lost its session")

// lostText is looked for in all that an error says, in lower case.
var lostText = notation.Pattern(`session not found|unknown session|no such session`)

// failure says what an error answer to a prompt means: a limit, a login, a lost
// session, or a failed model request. The order matters: a code is worth more
// than words, and a lost session is mended without anybody.
func failure(e *rpcError, now time.Time) error {
	said := e.Error()
	switch {
	case e.Code == codeAuthRequired:
		return &agent.LoginError{Hint: said}
	case e.Code == codeNoResource, lostText().MatchString(strings.ToLower(said)):
		return fmt.Errorf("%w: %s", errLost, said)
	}
	return program.Diagnose(said, string(e.Data), now)
}
