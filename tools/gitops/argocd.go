package main

import (
	"encoding/json"
	"fmt"
	"io"

	lua "github.com/yuin/gopher-lua"
)

// healthCheck is a script of the ConfigMap argocd-cm and the object that Argo CD gives to it as obj.
type healthCheck struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

func checkAll(in io.Reader, out io.Writer) error {
	var checks []healthCheck
	if err := json.NewDecoder(in).Decode(&checks); err != nil {
		return err
	}
	for i, check := range checks {
		status, err := check.run()
		if err != nil {
			return fmt.Errorf("running check %d: %w", i, err)
		}
		fmt.Fprintln(out, status)
	}
	return nil
}

// run returns the status that the script returns. As in Argo CD, the script can use only Lua's basic functions.
func (c healthCheck) run() (string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.Push(state.NewFunction(lua.OpenBase))
	state.Push(lua.LString(lua.BaseLibName))
	if err := state.PCall(1, 0, nil); err != nil {
		return "", err
	}
	state.SetGlobal("obj", luaValue(state, c.Object))
	if err := state.DoString(c.Script); err != nil {
		return "", err
	}
	health, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", fmt.Errorf("the script returns a %s", state.Get(-1).Type())
	}
	return health.RawGetString("status").String(), nil
}

// luaValue returns a JSON value as one of Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, inner := range v {
			table.RawSetString(key, luaValue(state, inner))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, inner := range v {
			table.Append(luaValue(state, inner))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
