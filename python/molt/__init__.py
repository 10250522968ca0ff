"""Molt: what an agent in Python imports. Standard library only; `molt.agents` is the contract."""
