DELETE FROM audit WHERE (at, id) IN (
    SELECT ordered.at, ordered.id FROM (
        SELECT ranked.at, ranked.id, ranked.place,
               row_number() OVER (
                   ORDER BY CASE WHEN ranked.place > $2 THEN 1 ELSE 0 END, ranked.at DESC, ranked.id DESC
               ) AS overall
        FROM (
            SELECT at, id, row_number() OVER (PARTITION BY caller ORDER BY at DESC, id DESC) AS place
            FROM audit
            WHERE CASE WHEN action = 'call.refused' THEN 1 ELSE 0 END = $1
        ) ranked
    ) ordered
    WHERE ordered.place > $2 OR ordered.overall > $3
)
