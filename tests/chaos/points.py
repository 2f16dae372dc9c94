"""Where the journey is cut: every kill point that a campaign comes by, in its order."""

READING = [
    f"{skill}.{step}"
    for skill in (
        "fetch_trends",
        "semantic_filter",
        "generate_content",
        "validate_content",
        "fetch_wallet_balance",
    )
    for step in ("claimed", "executed", "saved")
]
WORKFLOW = ["workflow.walked", "workflow.saved"]
PUBLISH = [
    "publish_content.claimed",
    "publish_content.redeemed",
    "publish.armed",
    "publish.sent",
    "publish_content.executed",
    "publish_content.saved",
]
DEBIT = [
    "debit_wallet.claimed",
    "debit_wallet.asked",
    "debit_wallet.resumed",
    "debit_wallet.redeemed",
    "debit.signed",
    "debit.broadcast",
    "debit.sent",
    "debit.settling",
    "debit.moved",
    "debit.posted",
    "debit_wallet.executed",
    "debit_wallet.saved",
]
POINTS = WORKFLOW + READING + PUBLISH + DEBIT
