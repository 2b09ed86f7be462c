package requests

import (
	"github.com/coveyteam/covey/hooks/texts"
)

// KeyOf returns the Key of a question from the values that identify it.
func KeyOf(parts ...any) string {
	return texts.Digest(texts.Encode(parts))[:32]
}
