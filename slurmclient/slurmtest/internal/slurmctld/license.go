package slurmctld

import (
	"strconv"
	"strings"
)

type license struct {
	LicenseConf
	used, reserved uint64
}

func (c *Cluster) license(name string) *license {
	for _, l := range c.licenses {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// licenseRequest is one entry of sbatch -L "matlab:2,ansys".
type licenseRequest struct {
	name  string
	count uint64
}

func parseLicenses(text string) []licenseRequest {
	if text == "" {
		return nil
	}
	var out []licenseRequest
	for part := range strings.SplitSeq(text, ",") {
		name, count, ok := strings.Cut(part, ":")
		n, err := strconv.ParseUint(count, 10, 32)
		if !ok || err != nil {
			n = 1
		}
		out = append(out, licenseRequest{name, n})
	}
	return out
}

// licensesFree reports whether all requested licenses are free now.
func (c *Cluster) licensesFree(requests []licenseRequest) bool {
	for _, r := range requests {
		l := c.license(r.name)
		if l == nil || l.used+l.reserved+r.count > l.Total {
			return false
		}
	}
	return true
}

func (c *Cluster) takeLicenses(requests []licenseRequest) {
	for _, r := range requests {
		if l := c.license(r.name); l != nil {
			l.used += r.count
		}
	}
}

func (c *Cluster) returnLicenses(requests []licenseRequest) {
	for _, r := range requests {
		if l := c.license(r.name); l != nil {
			l.used -= min(l.used, r.count)
		}
	}
}
