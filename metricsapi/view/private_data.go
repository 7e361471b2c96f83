package view

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// PrivateData is the part of PrivateData in slurm.conf(5) that concerns the view: the records
// that only their own users may see.
type PrivateData struct{ Jobs, Nodes, Partitions bool }

// ParsePrivateData parses a value of PrivateData, such as "jobs,nodes", "none" or "all". A word
// that slurm.conf(5) does not have is an error.
func ParsePrivateData(text string) (PrivateData, error) {
	var p PrivateData
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch strings.TrimSpace(word) {
		case "jobs":
			p.Jobs = true
		case "nodes":
			p.Nodes = true
		case "partitions":
			p.Partitions = true
		case "all":
			p = allPrivate()
		case "", "none", "accounts", "cloud", "events", "reservations", "usage", "users":
		default:
			return PrivateData{}, fmt.Errorf("%q is not a value of PrivateData", word)
		}
	}
	return p, nil
}

// Settings are the sources of a cluster's PrivateData other than its slurmctld.
type Settings struct {
	// Annotations are those of the cluster's object.
	Annotations map[string]string
	// Configured is true if slurm.conf is rendered from the object and includes ExtraConf.
	Configured bool
	ExtraConf  string
	// Default applies if PrivateData is unknown.
	Default PrivateData
}

// allPrivate applies if PrivateData is invalid or has not been read yet.
func allPrivate() PrivateData { return PrivateData{Jobs: true, Nodes: true, Partitions: true} }

// PrivateDataOf returns the value of the annotation, else the value that slurmctld reported, else
// the value in slurm.conf if it is rendered from the object, else the default. An invalid value
// makes everything private. conf is ignored if slurmctld's configuration is not polled. Before
// the first poll, PrivateDataOf returns that everything is private, and false.
func PrivateDataOf(s Settings, conf slurmclient.Reading[*slurm.Conf]) (PrivateData, bool) {
	text, ok := s.Annotations[v1alpha1.AnnotationPrivateData]
	switch {
	case ok:
	case conf.Known && conf.Value != nil:
		text = strings.Join(conf.Value.PrivateData, ",")
	case conf.Enabled && !conf.Known && conf.Err == nil:
		return allPrivate(), false
	case !s.Configured:
		return s.Default, true
	default:
		if text, ok = privateDataInConf(s.ExtraConf); !ok {
			return s.Default, true
		}
	}
	p, err := ParsePrivateData(text)
	if err != nil {
		return allPrivate(), true
	}
	return p, true
}

// privateDataInConf returns the value of PrivateData in lines of slurm.conf, or "" if it is not
// set. It returns false if the lines include other files, which may set it.
func privateDataInConf(conf string) (string, bool) {
	value, begun := "", ""
	for line := range strings.Lines(conf + "\n\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimRight(begun+line, " \t\r\n")
		head := strings.TrimRight(line, `\`)
		if begun = ""; (len(line)-len(head))%2 == 1 { // the line continues on the next one
			begun = line[:len(line)-1]
			continue
		}
		words := strings.Fields(strings.ReplaceAll(line, "=", " = "))
		for i, word := range words {
			switch {
			case strings.EqualFold(word, "include"):
				return "", false
			case strings.EqualFold(word, "PrivateData") && i+2 < len(words) && words[i+1] == "=":
				value = strings.Trim(words[i+2], `"`)
			}
		}
	}
	return value, true
}
