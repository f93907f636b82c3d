"""The schemas of both engines, generated from the models and one template for each engine."""
