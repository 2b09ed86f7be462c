package plan

import (
	"strconv"
	"strings"

	"github.com/coveyteam/covey/tasks"
)

// Fingerprint identifies a state of tasks. It uses versions instead of contents,
// so that a change that was reverted counts as a change.
func Fingerprint(list []tasks.Task) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.ID + "." + strconv.FormatUint(t.Version, 10) + " ")
	}
	return b.String()
}
