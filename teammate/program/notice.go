package program

import (
	"bytes"

	"github.com/coveyteam/covey/hooks/notation"
)

// Agent programs report that they cannot reach their vendor and retry, for minutes or for ever. Such
// a notice is for people, and is not a sign that a model is working.
//
// The patterns match sentences of programs, not words that a model may use: codex (exec 0.166, acp
// 0.16 and 2.6), claude (2.1), gemini-cli (0.61), copilot (1.0).
var (
	retryNotice = notation.Pattern(`(?i)\breconnecting(\.\.\.|…| to \w+,)? ?(attempt )?\d+ ?(/|of) ?\d+|` +
		`\bretrying( \w+)?,? (in \d+|attempt \d+|\d+ ?/ ?\d+)|\bretrying with backoff|due to an? [a-z ]{1,40}error\. retrying|` +
		`\battempt \d+ failed\b.{0,80}\bretrying|\bstream (error|disconnected)\b.{0,200}\bretrying\b|` +
		`"willRetry": ?true`)
)

// MayBeRetryNotice is a cheap check whether data can hold a retry notice.
func MayBeRetryNotice(data []byte) bool {
	return bytes.Contains(data, []byte("etry")) || bytes.Contains(data, []byte("econnecting"))
}

// IsRetryNotice reports whether a text of an agent program says that it has lost its model and is
// retrying.
func IsRetryNotice(said string) bool { return len(said) < 4096 && retryNotice().MatchString(said) }
