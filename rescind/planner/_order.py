"""The names by which the planner's workflow and its failures are known."""

PROPOSE = "rescind.ProposePlan"
"""The name of the workflow that gets a plan from a model."""

NOT_READY = "ModelNotReady"
"""The type of a failure that lasts until somebody sets something: no such model, or a key that is not taken."""

MODEL_FAILED = "ModelFailed"
"""The type of a failure of the model or of the way to it."""
