package main

import (
	"context"
	"fmt"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// replayCluster runs a scenario as a kernel. It ends by itself, or by a fault.
func replayCluster(s *golden.ClusterScenario) (string, error) {
	return replay.Cluster(context.Background(), s, sm.Config{})
}

func replayReduction(r *golden.Reduction) (string, error) {
	what := fmt.Sprintf("%v of %v, %s", tile.ReduceOp(r.Op), tile.DataType(r.DataType), r.Place)
	after, err := replay.Reduce(r)
	if err != nil {
		return fmt.Sprintf("%s: %v", what, err), nil
	}
	memory := "global"
	if r.Place == "cluster" {
		memory = "shared"
	}
	if text := differ(memory, after, r.After); text != "" {
		return fmt.Sprintf("%s: %s", what, text), nil
	}
	return "", nil
}
