package yaml

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Hours are the hours of a day. The zero Hours are the whole day.
type Hours struct {
	From time.Duration `json:"from"` // since midnight
	To   time.Duration `json:"to"`   // before From: on the next day
	Zone string        `json:"zone"` // IANA name; empty: the machine's
}

// Hours resolves hours such as 08:00-20:00 and their zone, and reports mistakes.
func (d *Decoder) Hours(text, zone Value[string]) Hours {
	d.CheckZone(zone)
	if text.V == "" {
		if zone.Given() && !text.Given() {
			d.Fail(zone.At.At, "zone is that of hours; add hours: \"08:00-20:00\", or remove zone")
		}
		return Hours{}
	}
	h, err := parseHours(text.V)
	if err != nil {
		d.Fail(text.At.At, "%s: %v; write hours such as \"08:00-20:00\"", Quote(text.V), err)
		return Hours{}
	}
	h.Zone = zone.V
	return h
}

// CheckZone reports a zone that this machine does not know. It refuses "Local", because a spec
// is used on several machines, and the word would hide that its times depend on the machine.
func (d *Decoder) CheckZone(zone Value[string]) bool {
	if zone.V == "Local" {
		d.Fail(zone.At.At, "without zone the machine's zone applies; remove it")
		return false
	}
	if _, err := time.LoadLocation(zone.V); err != nil {
		d.Fail(zone.At.At, "there is no time zone %s; write one such as Europe/Berlin or UTC", Quote(zone.V))
		return false
	}
	return true
}

// errHours is the error of a text that is not two times of the day.
var errHours = errors.New("these are not two times of the day")

// parseHours parses hours without their zone.
func parseHours(text string) (Hours, error) {
	from, to, ok := strings.Cut(text, "-")
	var h Hours
	var ok1, ok2 bool
	h.From, ok1 = timeOfDay(strings.TrimSpace(from))
	h.To, ok2 = timeOfDay(strings.TrimSpace(to))
	h.From %= 24 * time.Hour // what begins at 24:00 begins at 0:00
	switch {
	case !ok || !ok1 || !ok2:
		return Hours{}, errHours
	case h.From == h.To:
		return Hours{}, errors.New("both times are the same")
	}
	return h, nil
}

// timeOfDay parses a time such as 8:00 or 24:00.
func timeOfDay(text string) (at time.Duration, ok bool) {
	hour, minute, _ := strings.Cut(text, ":")
	h, err1 := strconv.ParseUint(hour, 10, 8)
	m, err2 := strconv.ParseUint(minute, 10, 8)
	at = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	return at, err1 == nil && err2 == nil && len(minute) == 2 && m < 60 && at <= 24*time.Hour
}
