package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/doctor"
	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/replica"
)

func (a *app) doctor() *cobra.Command {
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps the service from its slots, and say what to do about it",
		Long: `Look for what keeps the service from its slots, or will: the connection, the
schema, the role's privileges, zone data, clocks, poolers, the server's settings,
replicas, and slots that did not run. One line for each check; it writes nothing.
Run it with the environment of app serve.

Exit status 1: something is wrong.`,
		Example: `  app doctor
  app doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return outcome(a.examine(cmd.Context(), cmd.OutOrStdout()))
		},
	}
	command.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return command
}

func (a *app) examine(ctx context.Context, out io.Writer) error {
	config, err := readConfig()
	if err != nil {
		return err
	}
	registry, err := a.registry()
	if err != nil {
		return err
	}
	db, err := postgres.OpenWorkers(ctx, string(config.DatabaseURL), replica.NewID(config.ReplicaName), registry.LongestTimeout(), commandConns)
	if err != nil {
		return err
	}
	defer db.Close()
	findings := doctor.Examine(ctx, doctor.Patient{
		DB: db, Service: config.ServiceName, Retention: time.Duration(config.ClaimRetention), Registry: registry,
	})
	findings = append([]doctor.Finding{{Check: "configuration", Status: doctor.OK, Found: fmt.Sprintf("service %q, %d schedules", config.ServiceName, len(registry.All()))}}, findings...)
	if a.json {
		err = printJSON(out, findings)
	} else {
		err = printFindings(out, findings)
	}
	wrong := 0
	for _, finding := range findings {
		if finding.Status == doctor.Wrong {
			wrong++
		}
	}
	if err == nil && wrong > 0 {
		err = fmt.Errorf("doctor: %d of %d checks found something wrong", wrong, len(findings))
	}
	return err
}

func printFindings(out io.Writer, findings []doctor.Finding) error {
	rows := make([][]string, 0, len(findings))
	for _, finding := range findings {
		found := oneLine(finding.Found)
		if finding.Do != "" {
			found += " → " + finding.Do
		}
		rows = append(rows, []string{string(finding.Status), finding.Check, found})
	}
	return printTable(out, []string{"STATUS", "CHECK", "FOUND"}, rows)
}
