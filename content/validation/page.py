"""docs/validation.md, out of the lists that every rule module keeps of itself."""

from content.validation.rules import FAMILIES, RULESET_VERSION, Checks

HEAD = f"""# Validation

What `validate_content` looks for, and what it cannot see (rule set {RULESET_VERSION}). An error makes the
content not valid; a warning lowers the confidence by 0.02; an info is a hint for whoever decides.

- The four families {", ".join(f"`{name}`" for name in vars(Checks()))} can be switched off
  for one check; the verdict then lists what was not checked. All other rules always run.
- Confidence: the lesser of the package's own and `max(0, 1 - 0.1 * errors - 0.02 * warnings)`.
- A verdict is served again for six hours while the package, the switches, the persona's version, the
  rule set, the campaign's mentions and the author's newest post are the same. An edited package is
  checked anew.
- All rules together have four seconds. Where one does not end (SAFETY_CHECK_TIMEOUT) or cannot run
  (VALIDATION_ERROR), the content counts as not valid with confidence 0, and a valid verdict that the
  same revision had before no longer counts.
- One text is read up to 6000 characters; every rule takes time in proportion to the text.
"""


def page() -> str:
    """The whole document."""
    return "\n".join([HEAD, *(_section(name) for name in FAMILIES)])


def _section(name: str) -> str:
    module = FAMILIES[name]
    about = (module.__doc__ or "").splitlines()[0]
    sees, misses = (_listed(getattr(module, kind)) for kind in ("CAN_SEE", "CANNOT_SEE"))
    title = name.replace("_", " ").capitalize()
    return f"## {title}\n\n{about} Sees:\n\n{sees}\n\nCannot see:\n\n{misses}\n"


def _listed(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)
