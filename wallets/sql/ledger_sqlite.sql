-- The rules of the ledger. A balance moves only inside these triggers: one statement, one change.
-- units_add(a, b) and units_sub(a, b) are expanded by the migration (36 digits in two halves of 18).
-- The gate holds a transfer's id while its own trigger works; without it accounts and entries are shut.
-- RAISE(ABORT) stands even under INSERT OR IGNORE, which would pass over a CHECK.

CREATE TABLE wallets_ledgergate (transfer_id char(32) NOT NULL PRIMARY KEY);

-- Accounts -----------------------------------------------------------------------------------------
CREATE TRIGGER account_opens_empty BEFORE INSERT ON wallets_ledgeraccount
BEGIN
  SELECT RAISE(ABORT, 'ledger: this account exists') FROM wallets_ledgeraccount
    WHERE id = NEW.id OR (wallet_id = NEW.wallet_id AND currency = NEW.currency)
       OR (wallet_id IS NULL AND NEW.wallet_id IS NULL
           AND kind = NEW.kind AND network = NEW.network AND currency = NEW.currency);
  SELECT RAISE(ABORT, 'ledger: an account opens empty')
    WHERE ltrim(NEW.credits, '0') <> '' OR ltrim(NEW.committed, '0') <> '' OR ltrim(NEW.held, '0') <> '';
END;

CREATE TRIGGER account_follows_transfers BEFORE UPDATE ON wallets_ledgeraccount
BEGIN
  SELECT RAISE(ABORT, 'ledger: an account changes through transfers only')
    WHERE NOT EXISTS (SELECT 1 FROM wallets_ledgergate JOIN wallets_transfer ON id = transfer_id
                      WHERE OLD.id IN (debit_account_id, credit_account_id))
       OR NEW.id IS NOT OLD.id OR NEW.kind IS NOT OLD.kind OR NEW.wallet_id IS NOT OLD.wallet_id
       OR NEW.network IS NOT OLD.network OR NEW.currency IS NOT OLD.currency;
  SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_no_overdraft')
    WHERE NEW.kind = 'wallet' AND NEW.committed > NEW.credits;
  SELECT RAISE(ABORT, 'ledger: the amount does not fit into 36 digits')
    WHERE length(NEW.credits) <> 36 OR length(NEW.committed) <> 36 OR length(NEW.held) <> 36
       OR NEW.credits || NEW.committed || NEW.held GLOB '*[^0-9]*' OR NEW.held > NEW.committed;
END;

CREATE TRIGGER account_is_kept BEFORE DELETE ON wallets_ledgeraccount
BEGIN
  SELECT RAISE(ABORT, 'ledger: DELETE of accounts is refused, the books are append-only');
END;

-- Transfers ----------------------------------------------------------------------------------------
CREATE TRIGGER transfer_is_sound BEFORE INSERT ON wallets_transfer
BEGIN
  SELECT RAISE(ABORT, 'UNIQUE constraint failed: this transfer exists') FROM wallets_transfer
    WHERE id = NEW.id OR idempotency_key = NEW.idempotency_key OR approval_id = NEW.approval_id
       OR (tx_hash = NEW.tx_hash AND log_index = NEW.log_index);
  SELECT RAISE(ABORT, 'ledger: a transfer starts pending or posted')
    WHERE NEW.status NOT IN ('pending', 'posted');
  SELECT RAISE(ABORT, 'ledger: both accounts of a transfer share network and currency')
    WHERE NOT EXISTS (SELECT 1 FROM wallets_ledgeraccount AS d JOIN wallets_ledgeraccount AS c
                      ON d.network = c.network AND d.currency = c.currency
                      WHERE d.id = NEW.debit_account_id AND c.id = NEW.credit_account_id);
END;

CREATE TRIGGER transfer_finishes_once BEFORE UPDATE ON wallets_transfer
BEGIN
  SELECT RAISE(ABORT, 'ledger: a transfer is posted or voided once and never altered')
    WHERE OLD.status <> 'pending' OR NEW.status NOT IN ('posted', 'voided')
       OR NEW.id IS NOT OLD.id OR NEW.kind IS NOT OLD.kind OR NEW.amount IS NOT OLD.amount
       OR NEW.debit_account_id IS NOT OLD.debit_account_id
       OR NEW.credit_account_id IS NOT OLD.credit_account_id
       OR NEW.idempotency_key IS NOT OLD.idempotency_key OR NEW.approval_id IS NOT OLD.approval_id
       OR NEW.chain_transaction_id IS NOT OLD.chain_transaction_id
       OR NEW.reference IS NOT OLD.reference OR NEW.tx_hash IS NOT OLD.tx_hash
       OR NEW.log_index IS NOT OLD.log_index OR NEW.created_at IS NOT OLD.created_at;
END;

CREATE TRIGGER transfer_holds AFTER INSERT ON wallets_transfer WHEN NEW.status = 'pending'
BEGIN
  INSERT INTO wallets_ledgergate VALUES (NEW.id);
  UPDATE wallets_ledgeraccount
    SET committed = units_add(committed, NEW.amount), held = units_add(held, NEW.amount)
    WHERE id = NEW.debit_account_id;
  DELETE FROM wallets_ledgergate;
END;

CREATE TRIGGER transfer_releases AFTER UPDATE ON wallets_transfer WHEN NEW.status = 'voided'
BEGIN
  INSERT INTO wallets_ledgergate VALUES (NEW.id);
  UPDATE wallets_ledgeraccount
    SET committed = units_sub(committed, NEW.amount), held = units_sub(held, NEW.amount)
    WHERE id = NEW.debit_account_id;
  DELETE FROM wallets_ledgergate;
END;

CREATE TRIGGER transfer_posts_hold AFTER UPDATE ON wallets_transfer WHEN NEW.status = 'posted'
BEGIN
  INSERT INTO wallets_ledgergate VALUES (NEW.id);
  UPDATE wallets_ledgeraccount SET held = units_sub(held, NEW.amount) WHERE id = NEW.debit_account_id;
  UPDATE wallets_ledgeraccount SET credits = units_add(credits, NEW.amount) WHERE id = NEW.credit_account_id;
  INSERT INTO wallets_entry (transfer_id, account_id, side, amount, created_at) VALUES
    (NEW.id, NEW.debit_account_id, 'debit', NEW.amount, NEW.finished_at),
    (NEW.id, NEW.credit_account_id, 'credit', NEW.amount, NEW.finished_at);
  DELETE FROM wallets_ledgergate;
END;

CREATE TRIGGER transfer_posts AFTER INSERT ON wallets_transfer WHEN NEW.status = 'posted'
BEGIN
  INSERT INTO wallets_ledgergate VALUES (NEW.id);
  UPDATE wallets_ledgeraccount SET committed = units_add(committed, NEW.amount) WHERE id = NEW.debit_account_id;
  UPDATE wallets_ledgeraccount SET credits = units_add(credits, NEW.amount) WHERE id = NEW.credit_account_id;
  INSERT INTO wallets_entry (transfer_id, account_id, side, amount, created_at) VALUES
    (NEW.id, NEW.debit_account_id, 'debit', NEW.amount, NEW.finished_at),
    (NEW.id, NEW.credit_account_id, 'credit', NEW.amount, NEW.finished_at);
  DELETE FROM wallets_ledgergate;
END;

CREATE TRIGGER transfer_is_kept BEFORE DELETE ON wallets_transfer
BEGIN
  SELECT RAISE(ABORT, 'ledger: DELETE of transfers is refused, the books are append-only');
END;

-- Entries ------------------------------------------------------------------------------------------
CREATE TRIGGER entry_is_a_leg BEFORE INSERT ON wallets_entry
BEGIN
  SELECT RAISE(ABORT, 'ledger: entries are written by their transfer')
    WHERE NOT EXISTS (SELECT 1 FROM wallets_ledgergate WHERE transfer_id = NEW.transfer_id)
       OR EXISTS (SELECT 1 FROM wallets_entry WHERE id = NEW.id OR (transfer_id = NEW.transfer_id AND side = NEW.side));
END;

CREATE TRIGGER entry_stands BEFORE UPDATE ON wallets_entry
BEGIN
  SELECT RAISE(ABORT, 'ledger: UPDATE of entries is refused, the books are append-only');
END;

CREATE TRIGGER entry_is_kept BEFORE DELETE ON wallets_entry
BEGIN
  SELECT RAISE(ABORT, 'ledger: DELETE of entries is refused, the books are append-only');
END;

-- Nonces -------------------------------------------------------------------------------------------
CREATE TRIGGER nonce_is_new BEFORE INSERT ON wallets_chaintransaction
BEGIN
  SELECT RAISE(ABORT, 'UNIQUE constraint failed: this nonce is taken') FROM wallets_chaintransaction
    WHERE id = NEW.id OR tx_hash = NEW.tx_hash
       OR (network = NEW.network AND sender = NEW.sender AND nonce = NEW.nonce);
END;

CREATE TRIGGER signed_bytes_stand BEFORE UPDATE ON wallets_chaintransaction
BEGIN
  SELECT RAISE(ABORT, 'ledger: a nonce belongs to one transaction and its bytes for ever')
    WHERE (OLD.raw <> '' AND (NEW.raw IS NOT OLD.raw OR NEW.tx_hash IS NOT OLD.tx_hash))
       OR NEW.network IS NOT OLD.network OR NEW.sender IS NOT OLD.sender OR NEW.nonce IS NOT OLD.nonce
       OR NEW."to" IS NOT OLD."to" OR NEW.value IS NOT OLD.value OR NEW.currency IS NOT OLD.currency
       OR NEW.gas IS NOT OLD.gas OR NEW.max_fee_per_gas IS NOT OLD.max_fee_per_gas
       OR NEW.max_priority_fee_per_gas IS NOT OLD.max_priority_fee_per_gas;
END;

CREATE TRIGGER nonce_is_kept BEFORE DELETE ON wallets_chaintransaction
BEGIN
  SELECT RAISE(ABORT, 'ledger: a nonce belongs to one transaction and its bytes for ever');
END;

CREATE TRIGGER nonce_only_rises BEFORE UPDATE ON wallets_noncecounter
BEGIN
  SELECT RAISE(ABORT, 'ledger: a nonce counter only rises')
    WHERE NEW.next_nonce <= OLD.next_nonce OR NEW.network IS NOT OLD.network OR NEW.address IS NOT OLD.address;
END;

CREATE TRIGGER nonce_counter_is_kept BEFORE DELETE ON wallets_noncecounter
BEGIN
  SELECT RAISE(ABORT, 'ledger: a nonce counter only rises');
END;
