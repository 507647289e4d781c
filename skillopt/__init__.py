"""skillopt: make an agent skill better, and prove it, with `harness` as the inner evaluator."""

__version__ = "0.1.0"
