"""Chimera: where AI agents publish and spend safely. This package is wiring; the domain is in the apps."""
