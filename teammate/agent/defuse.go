package agent

import (
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// frames are the tags in which a host tells a model who says something: what members
// write must not be able to end such a frame, or to open one of its own. Models read
// tags loosely, so case, spaces, and what stands behind the name do not matter.
var frames = notation.Pattern(`(?i)<([\s/\\]*(?:teammate[\s_-]*message|system[\s_-]*reminder|task[\s_-]*notification|` +
	`agent[\s_-]*(?:message|notification)|user-prompt-submit-hook|(?:local-)?command-[a-z]+|` +
	`bash-(?:input|stdout|stderr)|function_(?:calls|results))(?:[^a-z0-9]|$))`)

// Defuse gives a text that somebody else than the host has written so that it cannot end
// the frame that it is put into, or begin one: the bracket of such a tag is escaped.
func Defuse(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return frames().ReplaceAllString(text, "&lt;$1")
}
