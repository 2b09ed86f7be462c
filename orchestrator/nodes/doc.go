// Package nodes connects the coordinator of a team with the nodes, which are the hosts that carry
// members, and chooses nodes for members.
//
// A node asks the coordinator, the coordinator gives orders to a node, and a node reports what has
// happened. Requests and orders are repeated until they are answered, so a connection may be cut and
// either side may be restarted meanwhile; while both sides live, each is carried out once. Reports
// are numbered and lie on the node's disk until the coordinator has stored them. All that the
// coordinator sends carries its epoch, and a node takes nothing from an epoch below the highest that
// it has seen.
//
// A node proves its name to the servers: its key may send and hear on subjects of that name alone.
// The package knows nothing of members; what requests, orders and reports mean is up to its callers.
package nodes
