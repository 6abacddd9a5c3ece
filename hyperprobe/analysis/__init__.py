"""Why a model fails: tables made from a run's predictions."""
