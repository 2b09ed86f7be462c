package bus

import (
	"fmt"
	"strings"
)

// ServerConfig describes one server of a cluster.
type ServerConfig struct {
	Name   string
	Listen string   // address for clients
	Peers  string   // address for the other servers
	Routes []string // addresses of the other servers
	Dir    string   // folder of its data
	Most   string   // bytes of its data, such as 20GB; empty: what the disk has
	// Accounts are the teams, each with the public nkey of its coordinators.
	Accounts []Account
	// Certs is the folder with server.pem, server.key and ca.pem; empty: no TLS, which is for
	// servers on one machine only.
	Certs string
}

// Account is a team. Teams cannot see each other's subjects.
type Account struct {
	Team  string
	Key   string // of its coordinators
	Nodes []NodeUser
}

// NodeUser is a host that carries members of a team, with the public nkey by which the servers know it.
type NodeUser struct{ Name, Key string }

// monitoring is the request by which servers say how they are configured.
const monitoring = "$SYS.REQ.SERVER.PING.JSZ"

// String returns the configuration in the language of nats-server. The accounts are YAML as well, which
// the values of a chart for Kubernetes can hold.
func (c ServerConfig) String() string {
	var b strings.Builder
	routes := make([]string, len(c.Routes))
	for i, r := range c.Routes {
		routes[i] = fmt.Sprintf("%q", "nats-route://"+r)
	}
	most := ""
	if c.Most != "" {
		most = ", max_file_store: " + c.Most
	}
	fmt.Fprintf(&b, `server_name: %q
listen: %q
max_payload: 1MB
jetstream { store_dir: %q, sync_interval: always%s }
cluster {
  name: covey
  listen: %q
  routes: [%s]
%s}
system_account: SYS
accounts: {
  SYS: {
    # By this, covey learns that the servers sync each write.
    exports: [ { service: %q, response_type: stream } ]
  }`, c.Name, c.Listen, c.Dir, most, c.Peers, strings.Join(routes, ", "), c.tls("  ", true), monitoring)
	for _, a := range c.Accounts {
		fmt.Fprint(&b, ",\n", a.text())
	}
	fmt.Fprintf(&b, "\n}\n%s", c.tls("", false))
	return b.String()
}

// tls returns the section of that name. Both sides prove who they are between servers; clients prove
// it by their nkeys.
func (c ServerConfig) tls(indent string, verify bool) string {
	if c.Certs == "" {
		return ""
	}
	return fmt.Sprintf("%stls { cert_file: %q, key_file: %q, ca_file: %q, verify: %v, min_version: \"1.3\" }\n",
		indent, c.Certs+"/server.pem", c.Certs+"/server.key", c.Certs+"/ca.pem", verify)
}

// text returns the account's section. Its first user may do what a coordinator does, on the subjects and
// streams of the team alone.
func (a Account) text() string {
	stream := "covey_" + a.Team
	publish := []string{"covey." + a.Team + ".>", "$O." + stream + ".>", "$JS.API.INFO", monitoring}
	for _, s := range []string{stream, stream + "_journal", "OBJ_" + stream} {
		publish = append(publish, "$JS.API.STREAM.*."+s, "$JS.API.STREAM.MSG.*."+s, "$JS.API.DIRECT.GET."+s, "$JS.API.DIRECT.GET."+s+".>",
			"$JS.API.CONSUMER.*."+s, "$JS.API.CONSUMER.*."+s+".>", "$JS.ACK."+s+".>", "$JS.FC."+s+".>")
	}
	users := user(a.Key, publish, []string{"covey." + a.Team + ".>", "_INBOX.>"})
	for _, n := range a.Nodes {
		users += "," + n.user(a.Team)
	}
	return fmt.Sprintf(`  %q: {
    jetstream: enabled,
    imports: [ { service: { account: SYS, subject: %q } } ],
    users: [%s
    ]
  }`, a.Team, monitoring, users)
}

// user returns the user of a node. It may say who it is, ask, report and answer, and hears what the
// coordinator tells this node: nothing of other nodes, and nothing that is stored.
func (n NodeUser) user(team string) string {
	subject := func(lane string) string { return "covey." + team + ".node." + n.Name + "." + lane }
	return user(n.Key, []string{subject("beat"), subject("request"), subject("report"), subject("answer")},
		[]string{subject("order"), subject("inbox")})
}

// user returns a user, who may do nothing but publish and subscribe to these subjects.
func user(key string, publish, subscribe []string) string {
	list := func(subjects []string) string {
		quoted := make([]string, len(subjects))
		for i, s := range subjects {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		return strings.Join(quoted, ",\n          ")
	}
	return fmt.Sprintf(`
      {
        nkey: %s,
        permissions: {
          publish: [ %s ],
          subscribe: [ %s ]
        }
      }`, key, list(publish), list(subscribe))
}
