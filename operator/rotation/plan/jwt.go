package plan

import (
	"cmp"
	"errors"
	"time"
)

// JWTKeys are the keys of auth/jwt by their ids, and their uses. The zero value stands for the user's key.
//
// slurmctld and slurmdbd take one HS256 key at a time, and a key set for RS256 beside it (docs/development/slurm.md,
// "Several keys of auth/jwt"). So an RS256 key, the bridge, signs tokens while the HS256 key changes.
type JWTKeys struct {
	// HS256 is the key for HS256 that daemons have. It is empty for the user's.
	HS256 string `json:"hs256,omitempty"`
	// Next is the key that takes its place, until it does.
	Next string `json:"next,omitempty"`
	// Bridge is the daemons' RS256 key beside it.
	Bridge string `json:"bridge,omitempty"`
	// SignsBridge is true if tokens are signed with the bridge.
	SignsBridge bool `json:"signsBridge,omitempty"`
	// SignedSince is when all tokens were first seen to be signed with the desired key.
	SignedSince time.Time `json:"signedSince,omitzero"`
}

// Loaded returns the keys of a daemon, as its agent reports them: the ids of the HS256 key and of the bridge.
func (k JWTKeys) Loaded() string {
	switch {
	case k.HS256 == "":
		return ""
	case k.Bridge == "":
		return k.HS256
	}
	return k.HS256 + "," + k.Bridge
}

// Signer returns the id of the key that should sign tokens.
func (k JWTKeys) Signer() string {
	if k.SignsBridge {
		return k.Bridge
	}
	return cmp.Or(k.HS256, FirstKey)
}

// Check returns an error for keys that no step has written.
func (k JWTKeys) Check() error {
	switch {
	case k == JWTKeys{}:
		return nil
	case k.HS256 == "", k.Bridge == "" && (k.Next != "" || k.SignsBridge), k.Next == k.HS256:
		return errors.New("these are no keys of a rotation")
	}
	return nil
}

// TokenUser is a Token whose Secret has a token that is valid for now.
type TokenUser struct {
	Name string
	// IsCurrent is true if the token is signed with the desired key.
	IsCurrent bool
}

// JWTInput is the input of a step.
type JWTInput struct {
	Now     time.Time
	Written JWTKeys
	// Requested is true if a rotation is requested that has not begun.
	Requested bool
	// Daemons are all daemons that verify tokens, with the keys as Loaded returns them.
	Daemons []JWTDaemon
	// Tokens are all Tokens that are signed with the key.
	Tokens []TokenUser
	// PickUpDelay is the time that users of a Token get until they use its next token.
	PickUpDelay time.Duration
	// NewID and NewBridge are the ids of new keys.
	NewID, NewBridge string
}

// JWTDaemon is a daemon that verifies tokens.
type JWTDaemon struct {
	// Name is the name of its pod.
	Name string
	// Loaded are the keys that it has. It is meaningless with a Problem.
	Loaded string
	// Problem is the reason why its keys are unknown, or empty.
	Problem string
}

// JWTStep is the next step.
type JWTStep struct {
	// Phase is the progress of the rotation once Write is written.
	Phase Phase
	// Write are the keys to write, or nil.
	Write *JWTKeys
	// Waiting names the pods and Tokens that the step waits for. Problems has the details of the ones with a problem.
	Waiting  []string
	Problems map[string]string
	// Until is when the wait for the users of tokens ends. It is zero if the step does not wait only for time.
	Until time.Time
}

// NextJWT returns the next step of a rotation of the keys of auth/jwt:
//
//	HS256  Next  Bridge  signs
//	old                  HS256
//	old    new   b       HS256   until all daemons know the bridge
//	old    new   b       b       until all tokens are signed with it, and those who use them had time to notice
//	new          b       b       until all daemons have the new key
//	new          b       HS256   until all tokens are signed with it, and so on
//	new                  HS256   until all daemons have forgotten the bridge
func NextJWT(in JWTInput) JWTStep {
	step := JWTStep{Phase: in.Written.phase(), Problems: map[string]string{}}
	for _, d := range in.Daemons {
		if d.Problem != "" || d.Loaded != in.Written.Loaded() {
			step.Waiting = append(step.Waiting, d.Name)
			step.Problems[d.Name] = d.Problem
		}
	}
	if len(step.Waiting) > 0 {
		if in.Written.Bridge == "" && in.Requested {
			step.Phase = NotBegun
		}
		return step
	}
	if in.Written.awaitsTokens() {
		if waits := in.awaitTokens(&step); waits {
			return step
		}
	}
	next := in.followingKeys()
	if next == nil {
		step.Phase = Rotated
		return step
	}
	step.Write, step.Phase = next, next.phase()
	return step
}

// awaitsTokens reports whether the keys belong to a step in which tokens are signed with another key.
func (k JWTKeys) awaitsTokens() bool { return k.Bridge != "" && k.SignsBridge == (k.Next != "") }

// phase returns the progress of a rotation while daemons learn these keys.
func (k JWTKeys) phase() Phase {
	switch {
	case k.Bridge == "":
		return Retiring
	case k.awaitsTokens():
		return Resigning
	case k.SignsBridge:
		return Switching
	}
	return Distributing
}

// awaitTokens reports whether tokens are still signed with another key, or their users may still have such a token.
func (in JWTInput) awaitTokens(step *JWTStep) bool {
	for _, token := range in.Tokens {
		if !token.IsCurrent {
			step.Waiting = append(step.Waiting, token.Name)
		}
	}
	if len(step.Waiting) > 0 || len(in.Tokens) == 0 {
		return len(step.Waiting) > 0
	}
	if in.Written.SignedSince.IsZero() {
		next := in.Written
		next.SignedSince = in.Now
		step.Write = &next
		return true
	}
	step.Until = in.Written.SignedSince.Add(in.PickUpDelay)
	return in.Now.Before(step.Until)
}

// followingKeys returns the keys that follow the written ones once the step waits for nothing, or nil.
func (in JWTInput) followingKeys() *JWTKeys {
	next := in.Written
	next.SignedSince = time.Time{}
	switch was := in.Written; {
	case was.Bridge == "" && !in.Requested:
		return nil
	case was.Bridge == "":
		next = JWTKeys{HS256: cmp.Or(was.HS256, FirstKey), Next: in.NewID, Bridge: in.NewBridge}
	case was.Next != "" && !was.SignsBridge:
		next.SignsBridge = true
	case was.Next != "":
		next.HS256, next.Next = was.Next, ""
	case was.SignsBridge:
		next.SignsBridge = false
	default:
		next.Bridge = ""
	}
	return &next
}
