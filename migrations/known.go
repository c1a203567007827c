package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// known lists the migrations that this binary carries, all pending.
var known = sync.OnceValues(func() ([]State, error) {
	migrator, err := riverMigrator(nil)
	if err != nil {
		return nil, err
	}
	var states []State
	for _, m := range migrator.AllVersions() {
		states = append(states, State{Line: River, Version: m.Version, Name: m.Name})
	}
	paths, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range paths {
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration file %s: its name must start with a number and an underscore", file)
		}
		states = append(states, State{Line: Ranura, Version: version, Name: fileName(file)})
	}
	return states, nil
})

// Fingerprint changes with every change of River's or our migrations. Two
// binaries with the same fingerprint make the same schema.
func Fingerprint() (string, error) {
	migrator, err := riverMigrator(nil)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, m := range migrator.AllVersions() {
		fmt.Fprintln(sum, River, m.Version, m.SQLUp)
	}
	paths, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", err
	}
	for _, file := range paths {
		sql, err := files.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, Ranura, file, string(sql))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
