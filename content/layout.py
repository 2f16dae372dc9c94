"""Labels that give a script its structure: not content, so no rule reads them as claims."""

import re

LABEL = re.compile(
    r"^(?:\[\d+:\d\d-\d+:\d\d\] (?:Hook|Beat \d+|Close): |Slide \d+: |\d{1,2}/\d{1,2} )", re.M
)
