DELETE FROM definitions WHERE written <= $1
