"""From a topic to a video worth its click: research, thesis, hooks and titles, script, verdict.

The contracts are in `contracts`, what they ask of a text in `rules`, two ways to write in `offline` and
`llm`, and which of them is used in `implementations`. docs/contract_rules.md says it for people.
"""
