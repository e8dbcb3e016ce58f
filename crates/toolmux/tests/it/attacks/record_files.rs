//! Files of the store, read, locked or confused by others on the machine.
