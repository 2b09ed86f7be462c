package plan

import "testing"

func TestUnlessNoted(t *testing.T) {
	end := Move{Kind: Finish, Reason: "all work is done"}
	for name, tt := range map[string]struct {
		s    Scene
		want Kind
	}{
		"nothing to hear":  {Scene{Seats: []Seat{{Name: "lead"}}}, Finish},
		"noted":            {Scene{Noted: true, Seats: []Seat{{Name: "lead"}}}, GiveNotes},
		"again and again":  {Scene{Noted: true, Digests: MaxDigests, Seats: []Seat{{Name: "lead"}}}, Finish},
		"the lead is gone": {Scene{Noted: true, Seats: []Seat{{Name: "lead", Gone: true}}}, Finish},
		"in trouble":       {Scene{Noted: true, Seats: []Seat{{Name: "lead", Attention: "x"}}}, Finish},
		"locked out":       {Scene{Noted: true, Seats: []Seat{{Name: "lead", Lock: LockUsedUp}}}, Finish},
	} {
		if got := unlessNoted(tt.s, end); len(got) != 1 || got[0].Kind != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}
