// Command house measures how well the tree keeps the rules of CONTRIBUTING's "The house": names
// that tell, one rule in one place, small packages, short lines, plain English and no dead code.
//
//	go run . [-l] [-max] ROOT
//
// It prints one row per measure. With -l it lists every place behind a row, with -check it ends
// with status 1 when a measure is above its bar.
package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
)

// measure is one row of the table: the counted places, the total, and the highest accepted share.
type measure struct {
	name   string
	places []string
	of     int
	// barShare is the highest accepted share of places, from 0 to 1.
	barShare float64
}

func (m measure) share() float64 {
	if m.of == 0 {
		return 0
	}
	return float64(len(m.places)) / float64(m.of)
}

func (m measure) isAboveBar() bool { return m.share() > m.barShare }

func main() {
	list := flag.Bool("l", false, "list every place behind each row")
	check := flag.Bool("check", false, "end with status 1 when a measure is above its bar")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: house [-l] [-check] ROOT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	measures, err := measureTree(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	if printMeasures(measures, *list) && *check {
		os.Exit(1)
	}
}

func measureTree(root string) ([]measure, error) {
	files, err := parseTree(root)
	if err != nil {
		return nil, err
	}
	unused, err := measureUnusedExports(root)
	if err != nil {
		return nil, err
	}
	measures := []measure{
		measureOneWordFunctions(files),
		measureLargePackages(files),
		measureLongLines(files),
		measureWords(root, files),
		unused,
	}
	return append(measures, measureRules(files)...), nil
}

// printMeasures prints the table and reports whether a measure is above its bar.
func printMeasures(measures []measure, list bool) bool {
	above := false
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tplaces\tof\tshare\tbar")
	for _, m := range measures {
		mark := ""
		if m.isAboveBar() {
			mark, above = "above", true
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f %%\t%.1f %%\t%s\n", m.name, len(m.places), m.of, 100*m.share(), 100*m.barShare, mark)
	}
	_ = w.Flush()
	if list {
		for _, m := range measures {
			for _, p := range m.places {
				fmt.Printf("%s: %s\n", m.name, p)
			}
		}
	}
	return above
}
