// Package incident holds no code. Its tests tell the incident that this
// service makes impossible: the service as it was, what was tried and why it
// paid the same week three times, and the same scenarios with the claim.
package incident
