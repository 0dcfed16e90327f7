-- The time at which an operator last lifted a ban of the key. A ban that began at or before this time is void, even if
-- it is written later.
ALTER TABLE keys ADD COLUMN ban_lifted_at TEXT CHECK (length(ban_lifted_at) = 24);
