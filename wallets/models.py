"""Wallets, the ledger, and what was sent to the chain.

All amounts are smallest units (USDC: 10**-6, native coin: 10**-18). The ledger's rules live in
database triggers (wallets/sql): nothing here, and no other program, moves a balance past them.
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from chimera.core.actors import history as history_of
from chimera.core.ids import new_id
from wallets.fields import UnitsField


class Wallet(models.Model):
    """A chain address whose encrypted private key this deployment holds for one agent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="wallets")
    address = models.CharField(max_length=42, help_text="EIP-55 checksummed")
    network = models.CharField(max_length=20)
    encrypted_key = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of(excluded_fields=["encrypted_key"])

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["address", "network"], name="wallet_address_once_per_network"
            )
        ]

    def __str__(self) -> str:
        return f"{self.address} on {self.network}"


class LedgerAccount(models.Model):
    """One side of the books: a wallet's USDC or coin, or one of the outside worlds it trades with.

    credits: everything ever received. committed: everything ever paid out plus what is on hold.
    held: the part of `committed` that waits for its outcome. No wallet commits more than it got.
    """

    class Kind(models.TextChoices):
        WALLET = "wallet"
        EXTERNAL_DEPOSITS = "external_deposits"
        EXTERNAL_PAYMENTS = "external_payments"
        EXTERNAL_FEES = "external_fees"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=20, choices=Kind)
    wallet = models.ForeignKey(
        Wallet, models.PROTECT, null=True, blank=True, related_name="accounts"
    )
    network = models.CharField(max_length=20)
    currency = models.CharField(max_length=4)
    credits = UnitsField(default=0)
    committed = UnitsField(default=0)
    held = UnitsField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wallet", "currency"], name="ledger_account_once_per_wallet"
            ),
            models.UniqueConstraint(
                fields=["kind", "network", "currency"],
                condition=Q(wallet__isnull=True),
                name="ledger_external_account_once",
            ),
            models.CheckConstraint(
                condition=Q(kind="wallet", wallet__isnull=False)
                | Q(
                    kind__in=[
                        "external_deposits",
                        "external_payments",
                        "external_fees",
                    ],
                    wallet__isnull=True,
                ),
                name="ledger_wallet_account_has_wallet",
            ),
            models.CheckConstraint(
                condition=Q(currency__in=["USDC", "ETH"]), name="ledger_currency_known"
            ),
            models.CheckConstraint(
                condition=~Q(kind="wallet") | Q(credits__gte=F("committed")),
                name="ledger_no_overdraft",
            ),
            models.CheckConstraint(
                condition=Q(committed__gte=F("held")), name="ledger_held_is_committed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.currency} on {self.network}"

    @property
    def posted(self) -> int:
        """Units received minus units paid out; negative only for outside accounts."""
        return int(self.credits - self.committed + self.held)

    @property
    def available(self) -> int:
        """Posted minus held: what a new debit may take."""
        return int(self.credits - self.committed)


class Transfer(models.Model):
    """Units that move from the debit account to the credit account, at once or after a hold."""

    class Kind(models.TextChoices):
        DEPOSIT = "deposit"
        DEBIT = "debit"
        FEE_HOLD = "fee_hold"
        FEE = "fee"

    class Status(models.TextChoices):
        PENDING = "pending"
        POSTED = "posted"
        VOIDED = "voided"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=10, choices=Status)
    debit_account = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="debits")
    credit_account = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="+")
    amount = UnitsField()
    idempotency_key = models.CharField(max_length=100, unique=True, null=True)  # noqa: DJ001  unique
    approval_id = models.UUIDField(unique=True, null=True)
    chain_transaction = models.ForeignKey(
        "ChainTransaction", models.PROTECT, null=True, related_name="transfers"
    )
    reference = models.CharField(max_length=500, blank=True)
    tx_hash = models.CharField(max_length=66, null=True)  # noqa: DJ001  unique where there is one
    log_index = models.IntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_moves_something"),
            models.CheckConstraint(
                condition=Q(status="pending", finished_at__isnull=True)
                | Q(status__in=["posted", "voided"], finished_at__isnull=False),
                name="transfer_pending_until_finished",
            ),
            models.CheckConstraint(
                condition=~Q(kind="debit")
                | Q(approval_id__isnull=False, idempotency_key__isnull=False),
                name="transfer_debit_has_approval",
            ),
            models.CheckConstraint(
                condition=~Q(kind="deposit") | Q(tx_hash__isnull=False, log_index__isnull=False),
                name="transfer_deposit_has_origin",
            ),
            models.CheckConstraint(
                condition=~Q(debit_account=F("credit_account")),
                name="transfer_between_two_accounts",
            ),
            models.UniqueConstraint(fields=["tx_hash", "log_index"], name="transfer_origin_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} ({self.status})"


class Entry(models.Model):
    """One leg of a posted transfer. The database writes both legs and refuses everyone else."""

    class Side(models.TextChoices):
        DEBIT = "debit"
        CREDIT = "credit"

    id = models.BigAutoField(primary_key=True)
    transfer = models.ForeignKey(Transfer, models.PROTECT, related_name="entries")
    account = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="entries")
    side = models.CharField(max_length=6, choices=Side)
    amount = UnitsField()
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["transfer", "side"], name="entry_one_leg_per_side")
        ]
        indexes = [models.Index(fields=["account", "-id"], name="entry_by_account")]

    def __str__(self) -> str:
        return f"{self.side} {self.amount}"

    @property
    def signed(self) -> int:
        """What the leg adds to its account's posted balance."""
        return self.amount if self.side == self.Side.CREDIT else -self.amount


class NonceCounter(models.Model):
    """The next unused nonce of an address; only ever raised, by one statement."""

    network = models.CharField(max_length=20)
    address = models.CharField(max_length=42)
    next_nonce = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["network", "address"], name="nonce_counter_once")
        ]

    def __str__(self) -> str:
        return f"{self.address} on {self.network}: {self.next_nonce}"


class ChainTransaction(models.Model):
    """One nonce of one address and the only bytes that were ever signed for it."""

    class Status(models.TextChoices):
        RESERVED = "reserved"
        SIGNED = "signed"
        BROADCAST = "broadcast"
        CONFIRMED = "confirmed"
        REVERTED = "reverted"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    network = models.CharField(max_length=20)
    sender = models.CharField(max_length=42)
    nonce = models.BigIntegerField()
    to = models.CharField(max_length=42, help_text="Who receives the value")
    value = UnitsField()
    currency = models.CharField(max_length=4)
    gas = models.BigIntegerField()
    max_fee_per_gas = UnitsField()
    max_priority_fee_per_gas = UnitsField()
    raw = models.TextField(blank=True)
    tx_hash = models.CharField(max_length=66, unique=True, null=True)  # noqa: DJ001  unique
    status = models.CharField(max_length=10, choices=Status, default=Status.RESERVED)
    block_number = models.BigIntegerField(null=True)
    block_hash = models.CharField(max_length=66, blank=True)
    gas_used = models.BigIntegerField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    broadcast_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["network", "sender", "nonce"], name="chain_nonce_used_once"
            ),
            models.CheckConstraint(
                condition=Q(status="reserved", raw="", tx_hash__isnull=True)
                | (~Q(status="reserved") & ~Q(raw="") & Q(tx_hash__isnull=False)),
                name="chain_signed_has_bytes",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sender} nonce {self.nonce} ({self.status})"

    @property
    def is_final(self) -> bool:
        """True once its outcome stands on a settled block."""
        return self.status in (self.Status.CONFIRMED, self.Status.REVERTED)


class Debit(models.Model):
    """One payment that a person approved, from the hold to its outcome on the chain."""

    class Status(models.TextChoices):
        HELD = "held"
        SIGNED = "signed"
        SENT = "sent"
        POSTED = "posted"
        FAILED = "failed"
        OUTCOME_UNKNOWN = "outcome_unknown"

    OPEN = (Status.HELD, Status.SIGNED, Status.SENT, Status.OUTCOME_UNKNOWN)

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    wallet = models.ForeignKey(Wallet, models.PROTECT, related_name="debits")
    idempotency_key = models.UUIDField()
    request_digest = models.CharField(max_length=64, help_text="Digest of the approved action")
    amount = UnitsField()
    currency = models.CharField(max_length=4)
    recipient = models.CharField(max_length=42)
    tx_description = models.TextField()
    network = models.CharField(max_length=20)
    approval_id = models.UUIDField(unique=True)
    execution_id = models.UUIDField(db_index=True)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="debits")
    reviewer_id = models.CharField(max_length=100)
    status = models.CharField(max_length=20, choices=Status, default=Status.HELD)
    transfer = models.OneToOneField(Transfer, models.PROTECT, related_name="debit")
    fee_hold = models.OneToOneField(Transfer, models.PROTECT, related_name="+")
    fee_transfer = models.OneToOneField(Transfer, models.PROTECT, null=True, related_name="+")
    chain_transaction = models.OneToOneField(ChainTransaction, models.PROTECT, related_name="debit")
    error_code = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["wallet", "idempotency_key"], name="debit_key_once_per_wallet"
            )
        ]
        indexes = [models.Index(fields=["status"], name="debit_by_status")]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} to {self.recipient} ({self.status})"

    @property
    def is_open(self) -> bool:
        """True while its outcome on the chain is not settled."""
        return self.status in self.OPEN

    @property
    def tx_hash(self) -> str | None:
        """Hash of the signed transaction, known before the first broadcast."""
        return self.chain_transaction.tx_hash


class ChainCursor(models.Model):
    """How far a network's settled blocks have been searched for deposits."""

    network = models.CharField(max_length=20, primary_key=True)
    last_block = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.network} up to block {self.last_block}"
