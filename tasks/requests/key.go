package requests

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coveyteam/covey/hooks/texts"
)

// KeyOf returns the Key of a question from the values that identify it.
func KeyOf(parts ...any) string {
	sum := sha256.Sum256(texts.Encode(parts))
	return hex.EncodeToString(sum[:16])
}
