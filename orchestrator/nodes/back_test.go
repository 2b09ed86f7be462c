package nodes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackAfterLost: who sat on a node that was lost is told once, when it is back, also to a coordinator that began
// meanwhile.
func TestBackAfterLost(t *testing.T) {
	for name, another := range map[string]bool{"same": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "big")
				h, endHub := s.coordinator(1)
				defer func() { endHub() }()
				l, endNode := s.node("big")
				defer endNode()
				<-l.Met()
				if _, _, _, err := h.Seat(t.Context(), "dev", nil); err != nil {
					t.Fatal(err)
				}
				s.cable.sever("big", true)
				time.Sleep(65 * time.Second)
				if another {
					endHub()
					_, endHub = s.coordinator(2)
				}
				s.cable.sever("big", false)
				time.Sleep(3 * time.Second)
				s.cable.sever("big", true)
				time.Sleep(35 * time.Second)
				s.cable.sever("big", false)
				time.Sleep(3 * time.Second)
				synctest.Wait()
				var was [][]string
				for len(s.news) > 0 {
					if n := <-s.news; n.State == Here && n.Was != nil {
						was = append(was, n.Was)
					}
				}
				if len(was) != 1 || !slices.Equal(was[0], []string{"dev"}) {
					t.Errorf("those who sat there are told as %v", was)
				}
			})
		})
	}
}

// TestCutOffCoordinator: a coordinator that is cut off itself, so that it cannot store either, finds no node lost, and
// one that hears the others again does after a minute.
func TestCutOffCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "big")
		_, endHub := s.coordinator(1)
		defer endHub()
		l, endNode := s.node("big")
		defer endNode()
		<-l.Met()
		s.cable.sever("big", true)
		s.store.fail(errKnown)
		time.Sleep(3 * time.Minute)
		if state := s.state(); state != Away {
			t.Errorf("it is %s while the coordinator is cut off", state)
		}
		s.store.fail(nil)
		time.Sleep(20 * time.Second)
		if state := s.state(); state != "" {
			t.Errorf("it is %s at once", state)
		}
		time.Sleep(time.Minute)
		if state := s.state(); state != Lost {
			t.Errorf("it is %q though it is silent for a minute after that", state)
		}
	})
}
