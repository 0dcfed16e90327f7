-- The end of a key's overlap with the key that replaces it. A rotation no longer changes expires_at. In older rows expires_at
-- may contain the end of an overlap.
ALTER TABLE keys ADD COLUMN replaced_until TEXT CHECK (length(replaced_until) = 24);
