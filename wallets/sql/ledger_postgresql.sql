-- The rules of the ledger. A balance moves only inside these triggers: one statement, one change.

CREATE FUNCTION wallets_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'ledger: % of % is refused, the books are append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Accounts -----------------------------------------------------------------------------------------
CREATE FUNCTION wallets_account_opens_empty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.credits <> 0 OR NEW.committed <> 0 OR NEW.held <> 0 THEN
    RAISE EXCEPTION 'ledger: an account opens empty' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION wallets_account_follows_transfers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'ledger: an account changes through transfers only'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER account_opens_empty BEFORE INSERT ON wallets_ledgeraccount
  FOR EACH ROW EXECUTE FUNCTION wallets_account_opens_empty();
CREATE TRIGGER account_follows_transfers BEFORE UPDATE ON wallets_ledgeraccount
  FOR EACH ROW EXECUTE FUNCTION wallets_account_follows_transfers();
CREATE TRIGGER account_is_kept BEFORE DELETE ON wallets_ledgeraccount
  FOR EACH ROW EXECUTE FUNCTION wallets_refuse();

-- Transfers ----------------------------------------------------------------------------------------
CREATE FUNCTION wallets_transfer_is_sound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status NOT IN ('pending', 'posted') THEN
    RAISE EXCEPTION 'ledger: a transfer starts pending or posted'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (SELECT count(DISTINCT (network, currency)) FROM wallets_ledgeraccount
      WHERE id IN (NEW.debit_account_id, NEW.credit_account_id)) <> 1 THEN
    RAISE EXCEPTION 'ledger: both accounts of a transfer share network and currency'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION wallets_transfer_finishes_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status <> 'pending' OR NEW.status NOT IN ('posted', 'voided')
     OR to_jsonb(NEW) - 'status' - 'finished_at' <> to_jsonb(OLD) - 'status' - 'finished_at' THEN
    RAISE EXCEPTION 'ledger: a transfer is posted or voided once and never altered'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION wallets_transfer_moves_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was_held boolean := TG_OP = 'UPDATE';
BEGIN
  IF NEW.status = 'voided' THEN
    UPDATE wallets_ledgeraccount SET committed = committed - NEW.amount, held = held - NEW.amount
      WHERE id = NEW.debit_account_id;
  ELSIF NEW.status = 'pending' THEN
    UPDATE wallets_ledgeraccount SET committed = committed + NEW.amount, held = held + NEW.amount
      WHERE id = NEW.debit_account_id;
  ELSE
    IF was_held THEN
      UPDATE wallets_ledgeraccount SET held = held - NEW.amount WHERE id = NEW.debit_account_id;
    ELSE
      UPDATE wallets_ledgeraccount SET committed = committed + NEW.amount WHERE id = NEW.debit_account_id;
    END IF;
    UPDATE wallets_ledgeraccount SET credits = credits + NEW.amount WHERE id = NEW.credit_account_id;
    INSERT INTO wallets_entry (transfer_id, account_id, side, amount, created_at) VALUES
      (NEW.id, NEW.debit_account_id, 'debit', NEW.amount, NEW.finished_at),
      (NEW.id, NEW.credit_account_id, 'credit', NEW.amount, NEW.finished_at);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER transfer_is_sound BEFORE INSERT ON wallets_transfer
  FOR EACH ROW EXECUTE FUNCTION wallets_transfer_is_sound();
CREATE TRIGGER transfer_finishes_once BEFORE UPDATE ON wallets_transfer
  FOR EACH ROW EXECUTE FUNCTION wallets_transfer_finishes_once();
CREATE TRIGGER transfer_moves_balances AFTER INSERT OR UPDATE ON wallets_transfer
  FOR EACH ROW EXECUTE FUNCTION wallets_transfer_moves_balances();
CREATE TRIGGER transfer_is_kept BEFORE DELETE ON wallets_transfer
  FOR EACH ROW EXECUTE FUNCTION wallets_refuse();

-- Entries ------------------------------------------------------------------------------------------
CREATE FUNCTION wallets_entry_is_a_leg() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'ledger: entries are written by their transfer'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER entry_is_a_leg BEFORE INSERT ON wallets_entry
  FOR EACH ROW EXECUTE FUNCTION wallets_entry_is_a_leg();
CREATE TRIGGER entry_is_kept BEFORE UPDATE OR DELETE ON wallets_entry
  FOR EACH ROW EXECUTE FUNCTION wallets_refuse();

-- Nonces -------------------------------------------------------------------------------------------
CREATE FUNCTION wallets_signed_bytes_stand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR (OLD.raw <> '' AND (NEW.raw, NEW.tx_hash) IS DISTINCT FROM (OLD.raw, OLD.tx_hash))
     OR (NEW.network, NEW.sender, NEW.nonce, NEW."to", NEW.value, NEW.currency, NEW.gas,
         NEW.max_fee_per_gas, NEW.max_priority_fee_per_gas)
     IS DISTINCT FROM (OLD.network, OLD.sender, OLD.nonce, OLD."to", OLD.value, OLD.currency, OLD.gas,
         OLD.max_fee_per_gas, OLD.max_priority_fee_per_gas) THEN
    RAISE EXCEPTION 'ledger: a nonce belongs to one transaction and its bytes for ever'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION wallets_nonce_only_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR NEW.next_nonce <= OLD.next_nonce
     OR (NEW.network, NEW.address) IS DISTINCT FROM (OLD.network, OLD.address) THEN
    RAISE EXCEPTION 'ledger: a nonce counter only rises' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER signed_bytes_stand BEFORE UPDATE OR DELETE ON wallets_chaintransaction
  FOR EACH ROW EXECUTE FUNCTION wallets_signed_bytes_stand();
CREATE TRIGGER nonce_only_rises BEFORE UPDATE OR DELETE ON wallets_noncecounter
  FOR EACH ROW EXECUTE FUNCTION wallets_nonce_only_rises();
