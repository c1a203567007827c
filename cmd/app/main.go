// Command app is Ranura: scheduled jobs, exactly once per slot, on any number
// of replicas, with nothing but Postgres.
package main

import (
	"os"

	"github.com/ranura/ranura/internal/command"
	"github.com/ranura/ranura/internal/workers"
)

func main() { os.Exit(command.Main(workers.All())) }
