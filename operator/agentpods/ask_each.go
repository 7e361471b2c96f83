package agentpods

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// parallelReads is the number of agents that are asked concurrently.
	parallelReads = 32
	// passTimeout limits the time for all agents of one reconciliation. Agents that have not answered by then count as
	// silent, so that no object delays the others.
	passTimeout = 10 * time.Second
)

// AskEach calls ask for each pod, several at a time, and returns its results in the order of the pods. The context of ask
// ends when the agents have taken too long together.
func AskEach[T any](ctx context.Context, pods []corev1.Pod, ask func(context.Context, *corev1.Pod) T) []T {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	out := make([]T, len(pods))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelReads)
	for i := range pods {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = ask(ctx, &pods[i])
		})
	}
	wg.Wait()
	return out
}
