// Package servers runs and configures the NATS servers of teams that outlive a host.
package servers
