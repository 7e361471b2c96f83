package podspec

import (
	"reflect"
	"slices"
)

// keptLists are the lists of a PodSpec that a strategic merge would replace as a whole, although our items
// must stay.
var keptLists = [...]struct {
	path []string
	// emptyRemoves makes an empty list of the user remove ours. The API server does not keep null in every
	// list. It is false for tolerations, which charts set to an empty list by default.
	emptyRemoves bool
}{
	{path: []string{"tolerations"}},
	{path: []string{"dnsConfig", "searches"}},
	{path: []string{"affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}, emptyRemoves: true},
}

// keepLists puts our items before the user's in the kept lists. If the user's list is null, our items are
// removed.
func keepLists(under, over Object) {
	for _, list := range keptLists {
		a, b := under, over
		for _, key := range list.path[:len(list.path)-1] {
			a, _ = a[key].(Object)
			b, _ = b[key].(Object)
		}
		last := list.path[len(list.path)-1]
		ours, _ := a[last].([]any)
		theirs, ok := b[last].([]any)
		if !ok || list.emptyRemoves && len(theirs) == 0 {
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

// keepArgs puts our arguments before the user's, unless the user sets the command too.
func keepArgs(under, over Object) {
	theirs, ok := over["args"].([]any)
	if _, command := over["command"]; !ok || command {
		return
	}
	ours, _ := under["args"].([]any)
	over["args"] = slices.Concat(ours, theirs)
}

// replaceNamed removes our items of a list that the user's list also names. A merge of two such items could
// combine alternatives of which only one is allowed.
func replaceNamed(under, over Object, list string) {
	ours, ok := under[list].([]any)
	theirs := itemsByName(over[list])
	if !ok || len(theirs) == 0 {
		return
	}
	under[list] = slices.DeleteFunc(ours, func(x any) bool {
		item, _ := x.(Object)
		name, _ := item["name"].(string)
		_, both := theirs[name]
		return both
	})
}

// itemsByName returns the items of a list by name.
func itemsByName(list any) map[string]Object {
	items, _ := list.([]any)
	out := make(map[string]Object, len(items))
	for _, x := range items {
		item, _ := x.(Object)
		if name, ok := item["name"].(string); ok {
			out[name] = item
		}
	}
	return out
}

// replaceHandlers removes our handler from probes and hooks where the user sets one.
func replaceHandlers(under, over Object) {
	for _, probe := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		replaceHandler(under, over, probe)
	}
	ours, _ := under["lifecycle"].(Object)
	theirs, _ := over["lifecycle"].(Object)
	for _, hook := range [...]string{"preStop", "postStart"} {
		replaceHandler(ours, theirs, hook)
	}
}

func replaceHandler(under, over Object, key string) {
	ours, _ := under[key].(Object)
	theirs, _ := over[key].(Object)
	handlers := [...]string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"}
	if ours == nil || !slices.ContainsFunc(handlers[:], func(h string) bool { return theirs[h] != nil }) {
		return
	}
	for _, h := range handlers {
		delete(ours, h)
	}
}
