package acp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// errCrash is wrapped by failures of the program itself. The program may be started
// again.
var errCrash = errors.New("the agent program failed")

// errLost means that the program no longer knows its session.
var errLost = errors.New("the agent program has lost its session")

// lostText matches, in lower case, the error texts of a lost session.
var lostText = texts.Pattern(`session not found|unknown session|no such session`)

// failure classifies an error answer to a prompt: a limit, a login, a lost session, or a
// failed model request. The order matters: a code is more reliable than text, and a lost
// session is repaired automatically.
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
