-- The folded name of an account, which is unique. Accounts and categories are folded together, by the rule in
-- meta.folding. Until an account is folded, its row has a placeholder that differs from every folded name.
ALTER TABLE accounts ADD COLUMN folded_name TEXT NOT NULL DEFAULT '';
UPDATE accounts SET folded_name = char(1) || id;
CREATE UNIQUE INDEX accounts_by_folded_name ON accounts (folded_name);
UPDATE meta SET folding = 0;
