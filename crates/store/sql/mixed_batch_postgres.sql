WITH begins AS (
    SELECT decode(b.id, 'hex') AS id, b.caller, decode(b.digest, 'hex') AS digest, b.turn
    FROM json_to_recordset($3::json) AS b (id text, caller text, digest text, turn bigint)
), begun AS (
    INSERT INTO calls (id, caller, digest, holder, turn, began)
    SELECT id, caller, digest, $1, turn, $2 FROM begins ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id, turn
), finishes AS (
    SELECT decode(f.id, 'hex') AS id, f.outcome
    FROM json_to_recordset($4::json) AS f (id text, outcome text)
), finished AS (
    UPDATE calls SET ended = $2, outcome = finishes.outcome
    FROM finishes
    WHERE calls.id = finishes.id AND calls.holder = $1
      AND (calls.outcome IS NULL OR calls.outcome = finishes.outcome)
    RETURNING calls.id AS id, calls.waiter AS waiter
)
SELECT id, turn, NULL::text AS waiter FROM begun
UNION ALL
SELECT id, NULL::bigint, waiter FROM finished
