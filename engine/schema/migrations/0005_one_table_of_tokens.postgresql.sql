-- API keys, calendar links and kiosk displays in one table, with the maker of a display.

CREATE TABLE tokens (
    id              text COLLATE "C" NOT NULL,
    use             text COLLATE "C" NOT NULL,
    user_id         uuid NOT NULL,
    name            text COLLATE "C" NOT NULL,
    digest          text COLLATE "C" NOT NULL,
    read_only       bigint NOT NULL,
    created_at      bigint NOT NULL,
    last_used_at    bigint,
    expires_at      bigint,
    created_by      uuid,
    code_digest     text COLLATE "C",
    code_expires_at bigint,
    CONSTRAINT tokens_pkey PRIMARY KEY (id),
    CONSTRAINT tokens_digest_key UNIQUE (digest),
    CONSTRAINT tokens_code_digest_key UNIQUE (code_digest),
    CONSTRAINT tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT tokens_created_by_fkey FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT tokens_use_check CHECK (use IN ('api_key', 'calendar_link', 'display')),
    CONSTRAINT tokens_name_check CHECK (octet_length(name) <= 256),
    CONSTRAINT tokens_read_only_check CHECK (read_only BETWEEN 0 AND 1)
);
CREATE INDEX tokens_user_id ON tokens (user_id);
CREATE INDEX tokens_created_by ON tokens (created_by);
INSERT INTO tokens (id, use, user_id, name, digest, read_only, created_at, last_used_at, expires_at, created_by)
SELECT id, CASE WHEN digest LIKE 'calendar:%' THEN 'calendar_link' ELSE 'api_key' END, user_id, name,
    replace(digest, 'calendar:', ''), read_only, created_at, last_used_at, expires_at, created_by
FROM api_keys;
-- The audit log names the maker. A display without an entry is its user's own. A maker who was deleted is none, even if
-- another user has the id now. A move to another client is no deletion: the next entry inserts a row of the same age.
INSERT INTO tokens (
    id, use, user_id, name, digest, read_only, created_at, last_used_at, expires_at, created_by, code_digest,
    code_expires_at
)
SELECT display.id, 'display', display.user_id, display.name, display.token_digest, 1, display.created_at,
    display.last_seen_at, display.expires_at,
    CASE
        WHEN coalesce(made.actor_id, display.user_id) = display.user_id THEN display.user_id
        WHEN NOT EXISTS (
            SELECT 1 FROM audit_log AS gone
            WHERE gone.relation = 'users' AND substr(gone.row_key, 1, 200) = made.actor_id::text
            AND gone.action = 'delete' AND gone.id > made.id
            AND NOT EXISTS (
                SELECT 1 FROM audit_log AS back
                WHERE back.id = gone.id + 1 AND back.relation = 'users' AND back.row_key = gone.row_key
                AND back.action = 'insert' AND back.after ->> 'created_at' = gone.before ->> 'created_at'
            )
        ) THEN (SELECT id FROM users WHERE id = made.actor_id)
    END,
    display.code_digest, display.code_expires_at
FROM devices AS display LEFT JOIN audit_log AS made ON made.id = (
    SELECT min(id) FROM audit_log
    WHERE relation = 'devices' AND substr(row_key, 1, 200) = display.id AND action = 'create_kiosk_display'
);
DROP TABLE devices;
DROP TABLE api_keys;
