DELETE FROM sealed WHERE expires <= $1
