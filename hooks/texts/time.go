package texts

import "time"

// ShortTime returns t as the time of day, with the weekday or the date if it is not
// today, in the zone of t.
func ShortTime(t, now time.Time) string {
	now = now.In(t.Location())
	day := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	}
	switch days := int(day(t).Sub(day(now)) / (24 * time.Hour)); {
	case days == 0:
		return t.Format("15:04")
	case days > 0 && days < 7:
		return t.Format("Mon 15:04")
	}
	return t.Format("2006-01-02 15:04")
}
