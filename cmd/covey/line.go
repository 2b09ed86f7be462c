package main

import (
	"encoding/json"
	"time"
)

// Line stands in for orchestrator.Line until that lands.
type Line struct {
	Seq    uint64          `json:"seq"`
	Time   time.Time       `json:"time"`
	Team   string          `json:"team"`
	Member string          `json:"member"`
	Turn   int             `json:"turn"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
}
