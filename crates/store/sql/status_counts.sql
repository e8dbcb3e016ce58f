SELECT (SELECT count(*) FROM holders WHERE until >= $1) AS servers,
       (SELECT count(*) FROM calls WHERE turn <> 0) AS calls,
       (SELECT count(*) FROM calls WHERE turn <> 0 AND outcome IS NULL) AS calls_running,
       (SELECT count(*) FROM tasks WHERE status = 'pending') AS tasks_pending,
       (SELECT count(*) FROM tasks WHERE status = 'running') AS tasks_running,
       (SELECT count(*) FROM tasks WHERE status IN ('completed', 'failed', 'cancelled')) AS tasks_ended,
       (SELECT count(*) FROM sealed) AS sealed,
       (SELECT count(*) FROM audit) AS audit
