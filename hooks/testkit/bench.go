package testkit

import (
	"slices"
	"testing"
	"time"
)

// Timed returns how long f takes. f must not fail.
func Timed(b *testing.B, f func() error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// Median sorts d, and returns the median.
func Median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// Micros returns d in microseconds, for a benchmark metric.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
