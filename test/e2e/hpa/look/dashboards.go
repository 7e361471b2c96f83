package look

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// root is the repository's folder, relative to this package.
const root = "../../../.."

// query is a PromQL query of a dashboard, a rule or a list.
type query struct {
	// location names the dashboard panel, rule or list of the query.
	location string
	expr     string
}

// dashboard is the part of a dashboard that the tests read.
type dashboard struct {
	UID    string  `json:"uid"`
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`

	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Multi bool   `json:"multi"`
			All   bool   `json:"includeAll"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Datasource  struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
		Overrides []struct {
			Matcher struct {
				ID      string `json:"id"`
				Options any    `json:"options"`
			} `json:"matcher"`
			Properties []struct {
				ID    string `json:"id"`
				Value any    `json:"value"`
			} `json:"properties"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
}

// seriesColour returns the fixed colour of a series, or "" if it has none.
func (p panel) seriesColour(series string) string {
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID != "byName" || o.Matcher.Options != series {
			continue
		}
		for _, property := range o.Properties {
			if value, ok := property.Value.(map[string]any); ok && property.ID == "color" {
				colour, _ := value["fixedColor"].(string)
				return colour
			}
		}
	}
	return ""
}

// readDashboards reads all dashboards, by the names of their files.
func readDashboards() (map[string]dashboard, error) {
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "*.json"))
	if err != nil {
		return nil, err
	}
	out := map[string]dashboard{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasPrefix(name, "package") || name == "tsconfig" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		out[name] = d
	}
	return out, nil
}

// queries returns the queries of the panels after replacing their variables.
func (d dashboard) queries(variables *strings.Replacer) []query {
	var out []query
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			out = append(out, query{fmt.Sprintf("%s, %q, %q", d.UID, p.Title, t.Legend), variables.Replace(t.Expr)})
		}
	}
	return out
}

// allVariables replaces variables as Grafana does when everything is selected, with short time
// ranges. job is the one of the dashboard that shows one.
func allVariables(job string) *strings.Replacer {
	return strings.NewReplacer("$__rate_interval", "1m", "$__range_s", "300", "$__range", "5m",
		`="$user"`, `=~".+"`, "$job_id", job,
		"$cluster", ".*", "$partition", ".*", "$nodeset", ".*", "$namespace", ".*", "$node", ".*", "$user", ".*",
		"$account", ".*", "$gpu_type", ".*", "$gpu_price", "2.5", "$cpu_price", "0.05")
}

// rule is a recording rule or an alert.
type rule struct {
	Record      string            `yaml:"record"`
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// readRules reads all rules.
func readRules() ([]rule, error) {
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "rules", "*.rules.yaml"))
	if err != nil {
		return nil, err
	}
	var out []rule
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var content struct {
			Groups []struct{ Rules []rule }
		}
		if err := yaml.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for _, g := range content.Groups {
			out = append(out, g.Rules...)
		}
	}
	return out, nil
}
