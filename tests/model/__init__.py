"""The model: random programs of sagas through random trouble, compared with what the world may be afterwards."""
