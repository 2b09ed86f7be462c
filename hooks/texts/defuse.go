package texts

import "strings"

// frames matches the tags in which a host tells a model who says something. What members write
// must not end such a frame or begin another. Models read tags loosely, so case, spaces and
// attributes are ignored.
var frames = Pattern(`(?i)<([\s/\\]*(?:teammate[\s_-]*message|system[\s_-]*reminder|task[\s_-]*notification|` +
	`agent[\s_-]*(?:message|notification)|user-prompt-submit-hook|(?:local-)?command-[a-z]+|` +
	`bash-(?:input|stdout|stderr)|function_(?:calls|results))(?:[^a-z0-9]|$))`)

// Defuse returns a text that someone other than the host has written, changed so that it cannot
// end its frame or begin another: it escapes the bracket of such a tag.
func Defuse(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return frames().ReplaceAllString(text, "&lt;$1")
}
