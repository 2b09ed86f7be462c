// Package program has what agents that are programs of others have in common,
// whatever they speak: what their error texts mean, how a failed one is started
// again, and what is waiting to be said to one that works. It makes no promise
// of compatibility to programs outside covey.
package program
