package orchestrator

import (
	"encoding/json"
	"time"
)

// Line is one line of the journal (DESIGN 7).
type Line struct {
	Seq    uint64          `json:"seq"`  // strictly rising in a team; a restart may leave a gap
	Time   time.Time       `json:"time"` // for display only
	Team   string          `json:"team"`
	Member string          `json:"member"` // empty: the team
	Turn   int             `json:"turn"`   // of the member; 0 before its first
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
	// Store is the id of the store's event that this line tells of; 0: none.
	Store uint64 `json:"store,omitempty"`
}
