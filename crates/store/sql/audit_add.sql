INSERT INTO audit (at, id, caller, action, subject) VALUES ($1, $2, $3, $4, $5)
