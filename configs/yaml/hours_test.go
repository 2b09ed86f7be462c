package yaml

import (
	"testing"
	"time"
)

func TestParseHours(t *testing.T) {
	for text, want := range map[string]Hours{
		"08:00-20:00":   {From: 8 * time.Hour, To: 20 * time.Hour},
		"8:00 - 20:30":  {From: 8 * time.Hour, To: 20*time.Hour + 30*time.Minute},
		"22:00-06:00":   {From: 22 * time.Hour, To: 6 * time.Hour},
		"00:00-24:00":   {To: 24 * time.Hour},
		"24:00-08:00":   {To: 8 * time.Hour},
		"8-20":          {},
		"08:00":         {},
		"":              {},
		"08:00-24:01":   {},
		"08:60-20:00":   {},
		"-1:00-20:00":   {},
		"08:00-08:00":   {},
		"24:00-00:00":   {},
		"08:0-20:00":    {},
		"08:00:00-9:00": {},
	} {
		got, err := parseHours(text)
		if got != want || (err == nil) != (want != Hours{}) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

// FuzzParseHours: whatever is written, hours lie within a day and are not empty.
func FuzzParseHours(f *testing.F) {
	f.Add("08:00-20:00")
	f.Add("255:99-:")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHours(text)
		if err == nil && (h.From < 0 || h.To < 0 || h.From > 24*time.Hour || h.To > 24*time.Hour || h.From == h.To) {
			t.Errorf("%q: %v", text, h)
		}
	})
}
