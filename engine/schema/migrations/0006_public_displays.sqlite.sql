-- Whether a kiosk display is public. The displays that exist keep what they show.

ALTER TABLE tokens ADD COLUMN is_public INTEGER NOT NULL DEFAULT 0
    CONSTRAINT tokens_is_public_check CHECK (is_public BETWEEN 0 AND 1);
