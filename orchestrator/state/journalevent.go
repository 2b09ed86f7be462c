package state

import (
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
)

// ErrNewer is returned for files that a newer covey wrote.
var ErrNewer = errors.New("written by a newer covey; update covey")

// newerJournal returns an error for a line of a newer format. Its data may mean anything, so
// that neither a reader may show it nor a writer may continue after it.
func newerJournal(l events.Line) error {
	if l.Format <= events.Format {
		return nil
	}
	return fmt.Errorf("line %d was %w (format %d, this one reads up to %d)", l.Seq, ErrNewer, l.Format, events.Format)
}
