package main

import (
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/wgmma"
)

// An instruction is one recorded tile with its operation.
type instruction struct {
	op   wgmma.Op
	tile *golden.MMA
}

func parseInstructions(data []byte) ([]instruction, error) {
	m, err := golden.ParseMMAs(data)
	if err != nil {
		return nil, err
	}
	op, err := replay.Instruction(m.Type)
	if err != nil {
		return nil, err
	}
	list := make([]instruction, len(m.Tiles))
	for i := range list {
		list[i] = instruction{op, &m.Tiles[i]}
	}
	return list, nil
}

func replayInstruction(in *instruction) (string, error) { return replay.WGMMA(in.op, in.tile) }
