//! Arguments that a program would take as options.
