"""The storm: many orders at once, workers that are killed, providers that misbehave at random."""
