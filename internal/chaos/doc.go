// Package chaos is the machine that tries to break the promise: real replicas
// behind proxies on a real Postgres, a seeded sequence of faults, and a checker
// that judges from what the processes wrote down and what the database holds.
// It has tests only; DEVELOPMENT.md tells how to run it.
package chaos
