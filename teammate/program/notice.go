package program

import (
	"bytes"

	"github.com/coveyteam/covey/hooks/notation"
)

// Agent programs tell of a vendor that they cannot reach, and try again: for minutes, or
// for ever. What they say of it is for people, and no sign that a model is at work.
//
// These are sentences of programs, not words that a model may use: codex (exec 0.166, acp
// 0.16 and 2.6), claude (2.1), gemini-cli (0.61), copilot (1.0).
var (
	retryNotice = notation.Pattern(`(?i)\breconnecting(\.\.\.|…| to \w+,)? ?(attempt )?\d+ ?(/|of) ?\d+|` +
		`\bretrying( \w+)?,? (in \d+|attempt \d+|\d+ ?/ ?\d+)|\bretrying with backoff|due to a transient api error\. retrying|` +
		`\battempt \d+ failed\b.{0,80}\bretrying|\bstream (error|disconnected)\b.{0,200}\bretrying\b|` +
		`"willRetry": ?true`)
)

// MayBeRetryNotice is a quick look whether data can hold what IsRetryNotice looks for.
func MayBeRetryNotice(data []byte) bool {
	return bytes.Contains(data, []byte("etry")) || bytes.Contains(data, []byte("econnecting"))
}

// IsRetryNotice reports whether an agent program says with these words that it has lost
// its model and tries to reach it again.
func IsRetryNotice(said string) bool { return len(said) < 4096 && retryNotice().MatchString(said) }
