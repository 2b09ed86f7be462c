package plan

import (
	"strconv"
	"strings"

	"github.com/coveyteam/covey/tasks"
)

// Fingerprint tells two states of the same tasks apart.
// By version and not by content: what was changed and changed back was touched.
func Fingerprint(list []tasks.Task) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.ID + "." + strconv.FormatUint(t.Version, 10) + " ")
	}
	return b.String()
}
