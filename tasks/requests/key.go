package requests

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coveyteam/covey/hooks/rawjson"
)

// KeyOf makes the Key of a question of what it is about.
func KeyOf(parts ...any) string {
	sum := sha256.Sum256(rawjson.Encode(parts))
	return hex.EncodeToString(sum[:16])
}
