"""Adapters for frameworks that call tools by name. Each needs the package of its framework."""
