package contract

import "time"

// tokenLifetime is the lifetime of the tokens that tests sign.
const tokenLifetime = time.Hour

func systemClock() time.Time { return time.Now() }

// fixedToken is a token that does not change.
type fixedToken string

func (f fixedToken) Token() (string, error) { return string(f), nil }
func (fixedToken) Reload() (bool, error)    { return false, nil }
func (fixedToken) Expiry() time.Time        { return time.Time{} }
