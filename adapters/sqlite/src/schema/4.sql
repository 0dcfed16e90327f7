-- The folded name of an account, which is unique. Accounts are folded together with categories, by the rule in meta.folding.
-- Until then a row has a placeholder that no name folds to.
ALTER TABLE accounts ADD COLUMN folded_name TEXT NOT NULL DEFAULT '';
UPDATE accounts SET folded_name = char(1) || id;
CREATE UNIQUE INDEX accounts_by_folded_name ON accounts (folded_name);
UPDATE meta SET folding = 0;
