package render

import (
	"reflect"
	"slices"
)

// keptLists are the lists of a PodSpec that Kubernetes would replace as a whole, and
// in which ours must stay.
var keptLists = [...][]string{
	{"tolerations"},
	{"dnsConfig", "searches"},
	{"affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"},
}

// keepLists puts our items before the user's in the lists that are kept. A list that
// is null is the user's wish to have none.
func keepLists(under, over object) {
	for _, path := range keptLists {
		a, b := under, over
		for _, key := range path[:len(path)-1] {
			a, _ = a[key].(object)
			b, _ = b[key].(object)
		}
		last := path[len(path)-1]
		ours, _ := a[last].([]any)
		theirs, ok := b[last].([]any)
		if !ok {
			continue
		}
		all := slices.Clone(ours)
		for _, x := range theirs {
			if !slices.ContainsFunc(all, func(y any) bool { return reflect.DeepEqual(x, y) }) {
				all = append(all, x)
			}
		}
		b[last] = all
	}
}

// keepArgs puts our arguments before the user's, unless the command is the user's as well.
func keepArgs(under, over object) {
	theirs, ok := over["args"].([]any)
	if _, command := over["command"]; !ok || command {
		return
	}
	ours, _ := under["args"].([]any)
	over["args"] = slices.Concat(ours, theirs)
}

// replaceNamed takes the items away from a list that the user has too: what is in
// one and what is in the other must not be mixed, as it may be one of several only.
func replaceNamed(under, over object, list string) {
	ours, ok := under[list].([]any)
	theirs := named(over[list])
	if !ok || len(theirs) == 0 {
		return
	}
	under[list] = slices.DeleteFunc(ours, func(x any) bool {
		item, _ := x.(object)
		name, _ := item["name"].(string)
		_, both := theirs[name]
		return both
	})
}

// named are the items of a list by name.
func named(list any) map[string]object {
	items, _ := list.([]any)
	out := make(map[string]object, len(items))
	for _, x := range items {
		item, _ := x.(object)
		if name, ok := item["name"].(string); ok {
			out[name] = item
		}
	}
	return out
}

// replaceHandlers takes our handler away from a probe or hook to which the user gives one.
func replaceHandlers(under, over object) {
	for _, probe := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		replaceHandler(under, over, probe)
	}
	ours, _ := under["lifecycle"].(object)
	theirs, _ := over["lifecycle"].(object)
	for _, hook := range [...]string{"preStop", "postStart"} {
		replaceHandler(ours, theirs, hook)
	}
}

func replaceHandler(under, over object, key string) {
	ours, _ := under[key].(object)
	theirs, _ := over[key].(object)
	handlers := [...]string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"}
	if ours == nil || !slices.ContainsFunc(handlers[:], func(h string) bool { return theirs[h] != nil }) {
		return
	}
	for _, h := range handlers {
		delete(ours, h)
	}
}
